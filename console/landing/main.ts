import { daysAgo } from '../shared/days-ago.ts'
import { byId, el, fill } from '../shared/dom.ts'
import { snippet } from '../shared/snippet.ts'

const pollMs = 10_000
const answerWithinMs = 4_000
const wanted = 3

const verdict = byId('verdict')
const checks = byId('checks')
const asked = byId('asked')

interface Readiness {
  readonly checks?: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
}

interface Description {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly unknown[] }>>>>
}

async function get<Body>(path: string): Promise<{ ok: boolean; body: Body }> {
  const response = await fetch(path, { signal: AbortSignal.timeout(answerWithinMs), cache: 'no-store' })
  return { ok: response.ok, body: (await response.json()) as Body }
}

/** Name, whether it is well, and what was found. */
type Row = readonly [name: string, good: boolean, detail: string]

function say(state: 'good' | 'warn' | 'bad', words: string, rows: readonly Row[]): void {
  // A status region is read aloud when its text changes; setting the same words again would repeat it.
  if (verdict.textContent !== words) verdict.textContent = words
  verdict.dataset.state = state
  fill(
    checks,
    rows.map(([name, good, detail]) => [el('dt', {}, name), el('dd', { 'data-state': good ? 'good' : 'bad' }, detail)]),
  )
  asked.textContent = `Asked at ${new Date().toLocaleTimeString()}`
}

async function readStatus(): Promise<void> {
  const [alive, ready] = await Promise.allSettled([get('/healthz'), get<Readiness>('/readyz')])
  if (alive.status === 'rejected' || !alive.value.ok) {
    return say('bad', 'No answer', [['Process', false, 'does not answer']])
  }
  const rows: Row[] = [['Process', true, 'alive']]
  if (ready.status === 'rejected') {
    return say('warn', 'Alive, readiness unknown', [...rows, ['Readiness', false, 'does not answer']])
  }
  const found = Object.entries(ready.value.body.checks ?? {})
  for (const [name, { ok, detail }] of found) rows.push([words(name), ok, detail || (ok ? 'ok' : 'fails')])
  return ready.value.ok ? say('good', 'Ready', rows) : say('warn', 'Alive, not ready', rows)
}

/** `search_index` reads better as "Search index". */
const words = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

async function watch(): Promise<void> {
  if (!document.hidden) await readStatus()
  setTimeout(watch, pollMs)
}

/**
 * Lines in the order of how much they show. Only routes that this instance describes are offered, so every line works
 * as it stands.
 */
interface Candidate {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly title: string
  readonly data?: string
  readonly query?: string
}

const candidates: readonly Candidate[] = [
  {
    method: 'post',
    path: '/v1/search',
    title: 'Search',
    data: `-d '{"query": "tidal power", "mode": "hybrid", "limit": 3, "include_highlights": true}'`,
  },
  {
    method: 'get',
    path: '/v1/documents/browse',
    title: 'Browse what came in during the last 30 days, newest first',
    query: `?limit=3&include_snapshot=true&created_from=${daysAgo(30)}`,
  },
  { method: 'get', path: '/v1/account', title: 'See what this key may do' },
  { method: 'get', path: '/v1/changes', title: 'Follow what changes', query: '?limit=3' },
  { method: 'get', path: '/readyz', title: 'Ask whether it can serve' },
  { method: 'get', path: '/openapi.json', title: 'Fetch the description' },
]

function curlOf({ path, data, query = '' }: Candidate, open: boolean): string {
  const url = `${location.origin}${path}${query}`
  const parts = [`curl -s ${/[?&]/.test(url) ? `'${url}'` : url}`]
  if (!open) parts.push('-H "Authorization: Bearer $TIDEMARK_KEY"')
  if (data) parts.push("-H 'Content-Type: application/json'", data)
  return parts.join(' \\\n  ')
}

async function showLines(): Promise<void> {
  const { body } = await get<Description>('/openapi.json')
  const version = byId('version')
  version.textContent = `version ${body.info.version}`
  version.hidden = false
  const known = candidates.filter(({ method, path }) => body.paths[path]?.[method]).slice(0, wanted)
  fill(
    byId('lines'),
    known.map((candidate) => {
      const { method, path, title } = candidate
      const { box, set } = snippet(title, { wrap: true })
      set(curlOf(candidate, !body.paths[path]![method]!.security?.length))
      return box
    }),
  )
}

watch()
showLines().catch(() => {
  const { box, set } = snippet('Ask whether it can serve')
  set(`curl -s ${location.origin}/readyz`)
  fill(byId('lines'), box)
})
