import { el, fill } from './dom.js'
import { snippet } from './snippet.js'

const pollMs = 10_000
const answerWithinMs = 4_000
const wanted = 3

const verdict = document.getElementById('verdict')
const checks = document.getElementById('checks')
const asked = document.getElementById('asked')

async function get(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(answerWithinMs), cache: 'no-store' })
  return { ok: response.ok, body: await response.json() }
}

function say(state, words, rows) {
  // A status region is read aloud when its text changes; setting the same words again would repeat it.
  if (verdict.textContent !== words) verdict.textContent = words
  verdict.dataset.state = state
  fill(
    checks,
    rows.map(([name, good, detail]) => [el('dt', {}, name), el('dd', { 'data-state': good ? 'good' : 'bad' }, detail)]),
  )
  asked.textContent = `Asked at ${new Date().toLocaleTimeString()}`
}

async function readStatus() {
  const [alive, ready] = await Promise.allSettled([get('/healthz'), get('/readyz')])
  if (alive.status === 'rejected' || !alive.value.ok) {
    return say('bad', 'No answer', [['Process', false, 'does not answer']])
  }
  const rows = [['Process', true, 'alive']]
  if (ready.status === 'rejected') {
    return say('warn', 'Alive, readiness unknown', [...rows, ['Readiness', false, 'does not answer']])
  }
  const found = Object.entries(ready.value.body.checks ?? {})
  for (const [name, { ok, detail }] of found) rows.push([words(name), ok, detail || (ok ? 'ok' : 'fails')])
  return ready.value.ok ? say('good', 'Ready', rows) : say('warn', 'Alive, not ready', rows)
}

/** `search_index` reads better as "Search index". */
const words = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

async function watch() {
  if (!document.hidden) await readStatus()
  setTimeout(watch, pollMs)
}

/**
 * Lines in the order of how much they show. Only routes that this instance describes are offered, so every line works
 * as it stands.
 */
const candidates = [
  ['post', '/v1/search', 'Search', `-d '{"query": "tidal power", "limit": 3, "include_highlights": true}'`],
  ['get', '/v1/documents/browse', 'Browse the newest documents', null, '?limit=3&include_snapshot=true'],
  ['get', '/v1/account', 'See what this key may do', null],
  ['get', '/v1/changes', 'Follow what changes', null, '?limit=3'],
  ['get', '/readyz', 'Ask whether it can serve', null],
  ['get', '/openapi.json', 'Fetch the description', null],
]

function curlOf([, path, , data, query = ''], open) {
  const url = `${location.origin}${path}${query}`
  const parts = [`curl -s ${/[?&]/.test(url) ? `'${url}'` : url}`]
  if (!open) parts.push('-H "Authorization: Bearer $TIDEMARK_KEY"')
  if (data) parts.push("-H 'Content-Type: application/json'", data)
  return parts.join(' \\\n  ')
}

async function showLines() {
  const lines = document.getElementById('lines')
  const { body } = await get('/openapi.json')
  const version = document.getElementById('version')
  version.textContent = `version ${body.info.version}`
  version.hidden = false
  const known = candidates.filter(([method, path]) => body.paths[path]?.[method]).slice(0, wanted)
  fill(
    lines,
    known.map((candidate) => {
      const [method, path, title] = candidate
      const { box, set } = snippet(title, { wrap: true })
      set(curlOf(candidate, !body.paths[path][method].security?.length))
      return box
    }),
  )
}

watch()
showLines().catch(() => {
  const { box, set } = snippet('Ask whether it can serve')
  set(`curl -s ${location.origin}/readyz`)
  fill(document.getElementById('lines'), box)
})
