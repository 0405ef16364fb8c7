import assert from 'node:assert/strict'
import { type DocumentHit, noFilters, type SearchIndex } from '../../src/search/search-index.ts'
import { everything, put, queryOf, timeoutMs } from './index-under-test.ts'

const toldBy = ({ language, publishedAt, titleLength }: DocumentHit) =>
  titleLength === undefined ? undefined : { language, publishedAt, titleLength }

const vectors = [[1, 2]]
const earlier = { version: 'd v1', title: 'one', columns: { language: 'de' }, current: false, vectors }
const current = { version: 'd v2', title: 'two words', columns: { language: 'en', publishedAt: 5 }, vectors }
const undated = { columns: { language: null, publishedAt: null }, vectors }

/** To be put into an index before it is asked. */
export const tellingDocuments = [
  put('d', ['tidal power'], earlier),
  put('d', ['tidal power'], current),
  put('e', ['tidal'], undated),
]

/** A hit of a hybrid search tells the columns of the current version where no other is searched. */
export async function assertTellsColumns(index: SearchIndex): Promise<void> {
  const asked = { scope: everything, timeoutMs }
  const query = queryOf('tidal power')
  const near = { profileId: 'p', vector: [1, 2] }
  const told = async (includeNonCurrent: boolean) => {
    const filters = { ...noFilters, includeNonCurrent }
    const byWords = { ...asked, query, limit: 9, after: null, otherChunksMax: 0, explainFirst: true, filters }
    const pages = [
      await index.keyword({ ...byWords, near: [{ ...near, filters }] }),
      await index.vector({ ...asked, ...near, topK: 9, filters, words: { query, filters } }),
    ]
    return pages.map((page) => {
      assert.ok(page.outcome === 'found')
      return Object.fromEntries(page.hits.map((hit) => [hit.documentId, toldBy(hit)]))
    })
  }
  const columns = {
    d: { language: 'en', publishedAt: 5, titleLength: 2 },
    e: { language: null, publishedAt: null, titleLength: 0 },
  }
  const none = { d: undefined, e: undefined }
  assert.deepEqual(await told(false), [columns, columns])
  assert.deepEqual(await told(true), [none, none])
}
