import { signal } from '@preact/signals'
import { isAway } from './ask.ts'

const pollMs = 10_000
const answerWithinMs = 4_000

interface Readiness {
  readonly checks?: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
}

/** Name, whether it is well, and the details. */
export type Row = readonly [name: string, good: boolean, detail: string]

export interface Health {
  readonly state: 'unknown' | 'good' | 'warn' | 'bad'
  readonly words: string
  readonly rows: readonly Row[]
  readonly askedAt: Date | null
}

/** The state of the server, polled while the page is visible. */
export const health = signal<Health>({ state: 'unknown', words: 'Checking …', rows: [], askedAt: null })

const say = (state: Health['state'], words: string, rows: readonly Row[]): void => {
  health.value = { state, words, rows, askedAt: new Date() }
}

async function get<Body>(path: string): Promise<{ ok: boolean; body: Body }> {
  const response = await fetch(path, { signal: AbortSignal.timeout(answerWithinMs), cache: 'no-store' })
  return { ok: response.ok, body: (await response.json()) as Body }
}

async function readHealth(): Promise<void> {
  const [alive, ready] = await Promise.allSettled([get('/healthz'), get<Readiness>('/readyz')])
  if (alive.status === 'rejected' || !alive.value.ok) {
    return say('bad', 'Not responding', [['Process', false, 'is not responding']])
  }
  const rows: Row[] = [['Process', true, 'running']]
  if (ready.status === 'rejected') {
    return say('warn', 'Running, readiness unknown', [...rows, ['Readiness', false, 'is not responding']])
  }
  const found = Object.entries(ready.value.body.checks ?? {})
  for (const [name, { ok, detail }] of found) rows.push([words(name), ok, detail || (ok ? 'ok' : 'fails')])
  return ready.value.ok ? say('good', 'Ready', rows) : say('warn', 'Running, not ready', rows)
}

/** Turns `search_index` into "Search index". */
const words = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

export async function watchHealth(): Promise<void> {
  if (!document.hidden) await readHealth()
  setTimeout(watchHealth, pollMs)
}

// When the server goes away or comes back, the next check does not wait for its interval.
isAway.subscribe((away) => {
  if (away) say('bad', 'Not responding', [['Process', false, 'is not responding']])
  else if (health.value.state === 'bad') readHealth()
})
