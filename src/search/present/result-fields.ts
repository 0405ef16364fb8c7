import type { FieldPermission } from '../../access/scope.ts'
import type { FieldsWith } from '../../document/field-types.ts'
import { resultRows } from '../../document/rows.ts'

/** The fields that identify and order a result. Every result has them, whether or not the request names them. */
export const constantFields = ['document_id', 'version_id', 'best_chunk_id', 'origin', 'score'] as const

/** The result fields that the table of fields declares. */
const documentResultFields = resultRows.map(({ name }) => name as FieldsWith<'result'>)

/** Every field of a result; a request can choose among those that are not constant. */
export const resultFields = [
  ...constantFields,
  ...documentResultFields,
  'keyword_score',
  'vector_score',
  'rerank_score',
  'explanation',
  'highlights',
  'matched_chunks',
] as const
export type ResultField = (typeof resultFields)[number]

/** The permissions for a field of a result; any one of them is enough. Fields without an entry need none. */
export const openedBy: Partial<Record<ResultField, readonly FieldPermission[]>> = Object.fromEntries(
  resultRows.flatMap(({ name, openedBy }) => (openedBy === undefined ? [] : [[name, openedBy]])),
)
