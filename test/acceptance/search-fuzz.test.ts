import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/** No text, asked for or sent in, makes the server fail. */
let world: SearchWorld
before(async () => {
  world = await startWorld()
  await world.putIndexed(documentOf('a', { body: 'Some words to be found: tern, plover "and" -curlew +knot' }))
})

/** All of Unicode, halves of pairs included, with what the query language gives a meaning to thrown in often. */
const unit = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  { weight: 3, arbitrary: fc.constantFrom('"', '+', '-', ' ', '“', '＋', '\\', '*', '\u0000', '\ufeff', '\u200d') },
  { weight: 2, arbitrary: fc.constantFrom('tern', 'plover', '机器学习', 'กรุงเทพ', 'e\u0301', '👨‍👩‍👧', 'ﷺ') },
)
const text = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(unit, { minLength: 1, maxLength }).map((units) => units.join('').slice(0, maxLength))

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
    fc.asyncProperty(text(60), mode, async (query, mode) => survives({ query, mode, ...flags })),
    { numRuns: 300 },
  )
  await fc.assert(
    fc.asyncProperty(text(1000), mode, async (query, mode) => survives({ query, mode, ...flags })),
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
  const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constantFrom('keyword', 'tern', 5, true, ['news'], ['title']))
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

test('no document makes indexing fail, or keeps others from being indexed', async () => {
  const languages = fc.constantFrom('en', 'de', 'zh', 'ja', 'th', 'ar', 'tr', 'xx', null)
  const document = fc.record({ title: text(200), body: text(3000), language: languages })
  const samples = fc.sample(document, { numRuns: 120, seed: 7 })
  const odd = ['"'.repeat(50_000), 'a'.repeat(200_000), 'ก'.repeat(20_000), '字'.repeat(20_000), ' \n'.repeat(30_000)]
  odd.push(
    '\u0301'.repeat(20_000),
    '\ud800'.repeat(5000),
    '\u0000'.repeat(5000),
    `x${'👍'.repeat(10_000)}`,
    'ﷺ'.repeat(3000),
  )
  odd.push('a '.repeat(50_000), '.'.repeat(50_000), '\ufeff', 'a\u0000b tern', `${'w'.repeat(600)} `.repeat(50))
  const sent = [
    ...samples.map((one, i) => documentOf(`fuzz-${i}`, one)),
    ...odd.map((body, i) => documentOf(`odd-${i}`, { title: `Odd ${i}`, body })),
    documentOf('last', { title: 'Lastword', body: 'after all the odd ones' }),
  ]
  for (let i = 0; i < sent.length; i += 50) await world.put(...sent.slice(i, i + 50))
  await until('all is indexed', async () => (await world.indexing()).pending_chunks === 0)
  assert.deepEqual(await world.names({ query: 'Lastword' }), ['last'])
  assert.equal((await world.indexing()).indexed_documents, sent.length + 1)
  // What is shown of them is fit to be sent, whichever it is.
  for (const query of ['tern', 'plover', '机器学习', 'odd', 'a', '字']) {
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const found = await world.search({ query, mode, limit: 100, include_highlights: true, include_chunks: true })
      assert.equal(found.degraded, false)
      for (const hit of found.results) {
        assert.ok((hit.body ?? '').length <= 500)
        assert.ok(hit.highlights!.length <= 3)
      }
    }
  }
  assert.equal((await world.server.call('GET', '/healthz')).status, 200)
})
