import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { entry, everything, ids, put, queryOf, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { assertToldAsScored } from '../../../test/contracts/same-answers.ts'
import { assertTellsColumns, tellingDocuments } from '../../../test/contracts/tells-columns.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../../../test/support/opensearch-nodes.ts'
import { type IndexChange, noFilters, type SearchIndex } from '../../search/search-index.ts'
import { OpenSearchHome } from './opensearch-home.ts'

const skip = openSearchNodes === null ? withoutOpenSearch : false

/** Of nine documents every third has no vector and every fourth no word of the query. */
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

async function withIndex(
  comparedMax: number,
  work: (index: SearchIndex) => Promise<void>,
  changes: readonly IndexChange[] = documents,
): Promise<void> {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const origin = { rules: 'one', instance: 'a' }
  const home = new OpenSearchHome({
    ...{ nodes: openSearchNodes!, prefix, origin, comparedMax, graceMs: 0 },
    ...patience,
  })
  const index = await home.open()
  try {
    assert.deepEqual(await index.apply({ position: 1, changes }), { outcome: 'applied' })
    await work(index)
  } finally {
    await index.close()
    await home.remove()
  }
}

const asked = { scope: everything, filters: noFilters, timeoutMs }
const keyword = { ...asked, query: queryOf('tidal power'), limit: 9, after: null, otherChunksMax: 0 }
const vector = { ...asked, profileId: 'p', vector: [1, 2], topK: 9 }

test('every hit by words tells its cosines, the first one its parts, and every hit by vectors what words give to it', {
  skip,
}, async () => {
  for (const comparedMax of [0, 100]) {
    await withIndex(comparedMax, async (index) => {
      assert.equal(await assertToldAsScored(index, { ...keyword, explainFirst: true }, vector), 9 + 6)
      const page = await index.keyword({ ...keyword, explainFirst: true })
      assert.ok(page.outcome === 'found')
      assert.deepEqual(
        page.hits.map(({ parts }) => parts?.length),
        [2, ...Array(8).fill(undefined)],
      )
    })
  }
})

test('a hit tells the columns of the current version where no other is searched, by the graph or one by one', {
  skip,
}, async () => {
  for (const comparedMax of [0, 100]) await withIndex(comparedMax, assertTellsColumns, tellingDocuments)
})

test('documents of other datasets are neither found nor scored, by the graph or one by one', { skip }, async () => {
  const scope = { entries: [{ ...entry, datasets: ['news'] }] }
  const isNews = (id: string) => Number(id.slice(1)) % 2 === 0
  for (const comparedMax of [0, 100]) {
    await withIndex(comparedMax, async (index) => {
      // Asked again, it is known how many there are.
      for (const _ of [1, 2]) {
        const near = await index.vector({ ...vector, scope })
        assert.ok(near.outcome === 'found')
        assert.deepEqual(ids(near.hits).toSorted(), ['d2', 'd4', 'd8'])
      }
      const byWords = await index.keyword({ ...keyword, scope })
      assert.ok(byWords.outcome === 'found')
      assert.deepEqual(ids(byWords.hits).toSorted(), ['d0', 'd2', 'd4', 'd6', 'd8'])
      const documentIds = documents.map(({ documentId }) => documentId)
      const scored = await index.score({ ...asked, scope, documentIds, query: keyword.query, vector })
      assert.ok(scored.outcome === 'found')
      for (const { documentId, keyword: words, vector: cosine } of scored.scores) {
        assert.equal(words !== null, isNews(documentId))
        assert.equal(cosine !== null, isNews(documentId) && documentId !== 'd0' && documentId !== 'd6')
      }
    })
  }
})
