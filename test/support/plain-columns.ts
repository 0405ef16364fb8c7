import type { VersionColumns } from '../../src/search/search-index.ts'

/** Of a document of which nothing is said but where it belongs. */
export const plainColumns: VersionColumns = {
  datasetId: 'd',
  platform: 'p',
  language: null,
  region: null,
  publishedAt: null,
  contentType: null,
  status: 'active',
}
