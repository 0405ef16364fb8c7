import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { oddText } from './odd-text.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/** No ingested text makes the server fail. test/service/search-fuzz.test.ts tests queries. */
let world: SearchWorld
before(async () => {
  world = await startWorld()
})

test('no document makes indexing fail, or keeps others from being indexed', async () => {
  const languages = fc.constantFrom('en', 'de', 'zh', 'ja', 'th', 'ar', 'tr', 'xx', null)
  const document = fc.record({ title: oddText(200), body: oddText(3000), language: languages })
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
  assert.equal((await world.indexing()).indexed_documents, sent.length)
  // The shown texts can be sent, whichever they are.
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
