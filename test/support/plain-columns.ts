import type { IndexedColumns } from '../../src/search/search-index.ts'
import type { CatalogNumbers } from '../../src/storage/segments/format/catalog-numbers.ts'

/** The columns of a document with only its required fields. */
export const plainColumns: IndexedColumns = {
  datasetId: 'd',
  platform: 'p',
  language: null,
  region: null,
  publishedAt: null,
  contentType: null,
  status: 'active',
  authorId: null,
  topics: [],
  tags: [],
  classifications: [],
  score: null,
}

/** The same in a segment. */
export const noCatalog: CatalogNumbers = {
  score: Number.NaN,
  author: 0,
  topics: new Uint32Array(),
  tags: new Uint32Array(),
  classifications: new Uint32Array(),
}
