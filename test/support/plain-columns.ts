import type { IndexedColumns } from '../../src/search/search-index.ts'
import { numberColumns } from '../../src/storage/segments/format/catalog-numbers.ts'
import { documentFields, emptyValues } from './document-fields.ts'

/** The columns of a document with only its required fields. */
export const plainColumns = {
  ...emptyValues(
    'property',
    documentFields.filter(({ indexed }) => indexed !== undefined),
  ),
  datasetId: 'd',
  platform: 'p',
  status: 'active',
  externalAuthorId: null,
} as IndexedColumns

/** The same columns as numbers, as a segment has them. */
export const noCatalog = numberColumns(plainColumns, () => 0)
