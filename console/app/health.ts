import { signal } from '@preact/signals'
import { isUnreachable } from './call-api.ts'

const pollMs = 10_000
const answerWithinMs = 4_000

interface Readiness {
  readonly checks?: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
}

/** The name of a check, whether it passed, and details. */
export type Row = readonly [name: string, good: boolean, detail: string]

export interface Health {
  readonly state: 'unknown' | 'good' | 'warn' | 'bad'
  readonly words: string
  readonly rows: readonly Row[]
  readonly checkedAt: Date | null
}

/** The state of the server, polled while the page is visible. */
export const health = signal<Health>({ state: 'unknown', words: 'Checking …', rows: [], checkedAt: null })

const say = (state: Health['state'], words: string, rows: readonly Row[]): void => {
  health.value = { state, words, rows, checkedAt: new Date() }
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

// The state changes at once when a request finds the server unreachable, or reachable again.
isUnreachable.subscribe((away) => {
  if (away) say('bad', 'Not responding', [['Process', false, 'is not responding']])
  else if (health.value.state === 'bad') readHealth()
})
