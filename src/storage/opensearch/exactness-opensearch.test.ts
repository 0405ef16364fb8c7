import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { BruteForceIndex } from '../../../test/contracts/brute-force-index.ts'
import { entry, everything, ids, put, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import * as random from '../../../test/contracts/random-changes.ts'
import { assertSameAnswers, isSameFloat, randomRequests } from '../../../test/contracts/same-answers.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../../../test/support/opensearch-nodes.ts'
import type { SearchIndex } from '../../indexing/fed-index.ts'
import { noFilters } from '../../search/search-index.ts'
import { OpenSearchHome } from './opensearch-home.ts'

const skip = openSearchNodes === null ? withoutOpenSearch : false

test('after any changes, results equal those of a brute-force scorer', { skip }, async () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const home = new OpenSearchHome({
    nodes: openSearchNodes!,
    prefix,
    origin: { rules: 'one', instance: 'a' },
    shards: 2,
    // Every vector search uses the graph, which is exact as long as it returns all documents.
    comparedMax: 0,
    graceMs: 0,
    ...patience,
  })
  const index = await home.open()
  const batch = fc.array(random.change, { maxLength: 12 })
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(batch, { minLength: 1, maxLength: 5 }),
        fc.array(randomRequests, { minLength: 2, maxLength: 4 }),
        async (batches, asks) => {
          await index.clear()
          const expected = new BruteForceIndex()
          for (const [i, changes] of batches.entries()) {
            assert.deepEqual(await index.apply({ position: i + 1, changes }), { outcome: 'applied' })
            await expected.apply({ position: i + 1, changes })
          }
          for (const one of asks) await assertSameAnswers(index, expected, one, isSameFloat)
          const [health, expectedHealth] = [await index.health(), await expected.health()]
          assert.deepEqual(
            [health.position, health.documents, health.chunks],
            [expectedHealth.position, expectedHealth.documents, expectedHealth.chunks],
          )
        },
      ),
      // Shrinking would take a cluster many minutes.
      { numRuns: 10, endOnFailure: true },
    )
  } finally {
    await index.close()
    await home.remove()
  }
})

/** Nine documents: every third has no vector, and every fourth no word of the query. */
const documents = Array.from({ length: 9 }, (_, i) =>
  put(`d${i}`, [i % 4 === 0 ? 'nothing of it' : 'tidal power', `power number ${i}`], {
    columns: { datasetId: i % 2 === 0 ? 'news' : 'blogs' },
    vectors:
      i % 3 === 0
        ? []
        : [
            [1, i],
            [i, 1],
          ],
  }),
)

async function withIndex(comparedMax: number, work: (index: SearchIndex) => Promise<void>): Promise<void> {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const origin = { rules: 'one', instance: 'a' }
  const home = new OpenSearchHome({
    ...{ nodes: openSearchNodes!, prefix, origin, comparedMax, graceMs: 0 },
    ...patience,
  })
  const index = await home.open()
  try {
    assert.deepEqual(await index.apply({ position: 1, changes: documents }), { outcome: 'applied' })
    await work(index)
  } finally {
    await index.close()
    await home.remove()
  }
}

const common = { scope: everything, filters: noFilters, timeoutMs }
const keyword = { ...common, query: queryOf('tidal power'), limit: 9, after: null, otherChunksMax: 0 }
const vector = { ...common, profileId: 'p', vector: [1, 2], topK: 9 }

test('documents of other datasets are neither found nor scored, by the graph or by exact comparison', {
  skip,
}, async () => {
  const scope = { entries: [{ ...entry, datasets: ['news'] }] }
  const isNews = (id: string) => Number(id.slice(1)) % 2 === 0
  for (const comparedMax of [0, 100]) {
    await withIndex(comparedMax, async (index) => {
      // The second search knows the number of chunks from the first.
      for (const _ of [1, 2]) {
        const near = await index.vector({ ...vector, scope })
        assert.ok(near.outcome === 'found')
        assert.deepEqual(ids(near.hits).toSorted(), ['d2', 'd4', 'd8'])
      }
      const byWords = await index.keyword({ ...keyword, scope })
      assert.ok(byWords.outcome === 'found')
      assert.deepEqual(ids(byWords.hits).toSorted(), ['d0', 'd2', 'd4', 'd6', 'd8'])
      const documentIds = documents.map(({ documentId }) => documentId)
      const scored = await index.score({ ...common, scope, documentIds, query: keyword.query, vectors: [vector] })
      assert.ok(scored.outcome === 'found')
      for (const { documentId, keyword: words, vectors: near } of scored.scores) {
        assert.equal(words !== null, isNews(documentId))
        assert.equal(near[0] !== null, isNews(documentId) && documentId !== 'd0' && documentId !== 'd6')
      }
    })
  }
})
