import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf } from '../acceptance/content.ts'
import { fakeVector } from '../acceptance/fake-embedding.ts'
import { type SearchWorld, sharedWorld } from '../acceptance/search-world.ts'

const datasets = ['vector-news', 'vector-forum'] as const
const [news] = datasets
const documentOf = documentsOf(news)

/** Candidates are chunks and results are documents, so a page needs enough chunks for its documents. */
suite('vector mode', () => {
  let world: SearchWorld
  const asked = { mode: 'vector', query_vector: fakeVector('harbour') }
  const shorts = Array.from({ length: 6 }, (_, i) => `short-${i}`)

  before(async () => {
    world = await sharedWorld(datasets)
    const long = 'Harbour harbour harbour harbour. '.repeat(1500)
    await world.putIndexed(
      documentOf('long', { title: null, body: long }),
      // The further down the list, the more other words.
      ...shorts.map((name, i) => documentOf(name, { title: null, body: `Harbour ${'lighthouse '.repeat(i + 1)}` })),
    )
  })

  test('a long document whose chunks are all nearer does not keep the others out', async () => {
    const found = await world.search({ ...asked, limit: 5 })
    assert.deepEqual(world.namesOf(found.results), ['long', ...shorts.slice(0, 4)])
    assert.equal(found.top_k, 200)
    assert.ok(found.total_chunks > 20, `${found.total_chunks} chunks`)
  })

  test('where the nearest chunks are of enough documents, no more are looked at', async () => {
    const found = await world.search({ mode: 'vector', query_vector: fakeVector('lighthouse'), limit: 2 })
    assert.deepEqual([found.top_k, found.total_chunks, found.results.length], [6, 2, 2])
  })

  test('the same documents and scores, whatever the limit', async () => {
    for (const query of ['harbour', 'lighthouse', 'harbour lighthouse lighthouse']) {
      const query_vector = fakeVector(query)
      const all = await world.search({ mode: 'vector', query_vector, limit: 100 })
      assert.equal(all.results.length, 7)
      for (let limit = 1; limit <= 8; limit++) {
        const { results } = await world.search({ mode: 'vector', query_vector, limit })
        assert.deepEqual(results, all.results.slice(0, limit), `${query}, ${limit}`)
      }
    }
  })

  test('the chunks of a document are listed as before, whatever the limit', async () => {
    const found = await world.search({ ...asked, limit: 1, include_chunks: true })
    assert.deepEqual([found.top_k, found.results[0]!.matched_chunks!.length], [200, 5])
  })
})
