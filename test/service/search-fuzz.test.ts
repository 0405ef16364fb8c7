import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { documentsOf } from '../acceptance/content.ts'
import { oddText } from '../acceptance/odd-text.ts'
import { type SearchWorld, sharedWorld } from '../acceptance/search-world.ts'

/** No query text makes the server fail. */
const news = 'fuzz-news'
const documentOf = documentsOf(news)
let world: SearchWorld
before(async () => {
  world = await sharedWorld([news])
  await world.putIndexed(documentOf('a', { body: 'Some words to be found: tern, plover "and" -curlew +knot' }))
})

const mode = fc.constantFrom('keyword', 'vector', 'hybrid')

async function survives(body: object): Promise<void> {
  const answer = await world.raw(body)
  assert.ok(answer.status === 200 || answer.status === 400, `${answer.status}: ${answer.text}`)
  if (answer.status === 400) assert.equal(answer.body.code, 'invalid_query')
  else assert.equal(answer.body.degraded, false, answer.text)
}

test('no query text makes a search fail', async () => {
  const flags = { include_highlights: true, include_chunks: true, include_non_current: true }
  await fc.assert(
    fc.asyncProperty(oddText(60), mode, async (query, mode) => survives({ query, mode, ...flags })),
    { numRuns: 300 },
  )
  await fc.assert(
    fc.asyncProperty(oddText(1000), mode, async (query, mode) => survives({ query, mode, ...flags })),
    { numRuns: 40 },
  )
  assert.equal((await world.server.call('GET', '/healthz')).status, 200)
})

test('a thousand of one thing', async () => {
  const pieces = [
    '"',
    '+',
    '-',
    '"+',
    '-"',
    '""',
    ' ',
    'a',
    '"a',
    '+a ',
    '-a ',
    '"a" ',
    '字',
    'ก',
    '👍',
    '\ud800',
    '\udc00',
  ]
  pieces.push('\u0000', '\u0301', '\ufdfa', 'ß', 'İ', '\u2028', '%', '\\', "'", '<em>', '&', '‮')
  for (const piece of pieces) {
    const query = piece.repeat(Math.ceil(1000 / piece.length)).slice(0, 1000)
    for (const mode of ['keyword', 'vector', 'hybrid']) await survives({ query, mode, include_highlights: true })
  }
  assert.equal((await world.server.call('GET', '/healthz')).status, 200)
})

test('no request body makes a search fail', async () => {
  const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constantFrom('keyword', 'tern', 5, true, [news], ['title']))
  const names = [
    'mode',
    'query',
    'query_vector',
    'datasets',
    'platforms',
    'languages',
    'published_from',
    'published_to',
  ]
  names.push('limit', 'cursor', 'fields', 'include_highlights', 'include_chunks', 'include_non_current', 'live', 'else')
  const body = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 })
  await fc.assert(
    fc.asyncProperty(body, async (fields) => {
      const sent = JSON.stringify({ query: 'tern', ...fields }, (_, one) => (typeof one === 'bigint' ? 1 : one))
      const answer = await world.server.call('POST', '/v1/search', {
        headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
        body: sent,
      })
      assert.ok([200, 400, 403].includes(answer.status), `${sent}: ${answer.text}`)
    }),
    { numRuns: 300 },
  )
})
