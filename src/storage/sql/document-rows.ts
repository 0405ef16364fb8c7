import type { Insertable } from 'kysely'
import { openedBy } from '../../access/event-fields.ts'
import type { EventType } from '../../changes/change-log.ts'
import type {
  ColumnValues,
  DetailValues,
  IndexedFields,
  KnownDocument,
  ResultFieldsFrom,
} from '../../document/field-types.ts'
import type { DocumentStatus } from '../../document/fields.ts'
import { type ColumnRow, documentColumns, fieldColumns, filterRows } from '../../document/rows.ts'
import type { BatchRecord, DocumentState } from '../../ingest/document-state.ts'
import type { DocumentRow, DocumentTermRow, DocumentVersionRow, EventRow, FactSetRow, SnapshotRow } from './tables.ts'

/** Converts documents, and the rows kept with them, between the types of `ingest/` and those of the tables. */

/** The fields whose texts are terms in `document_term`. */
const termRows = filterRows.filter(({ filter }) => filter.term !== undefined)

const statusOf = (row: Pick<DocumentRow, 'status'>): DocumentStatus =>
  row.status === 'unavailable' ? 'unavailable' : 'active'

const indexedRows = fieldColumns.filter(({ indexed }) => indexed === 'columns')
export type IndexedColumn = IndexedFields<'columns'>

/** The columns of a document, besides its texts, that scopes, the index and results use. */
export const columnNames = indexedRows.map(({ column }) => column) as readonly IndexedColumn[]

export function columnsOf(row: Pick<DocumentRow, IndexedColumn>): ColumnValues {
  const columns: Record<string, unknown> = {}
  for (const field of indexedRows) columns[field.property] = readColumn(row, field)
  return columns as unknown as ColumnValues
}

const detailRows = fieldColumns.filter(({ result }) => result?.from === 'details')

/** The columns of a document, besides its texts, that a result shows. */
export const detailColumns = [
  ...detailRows.map(({ column }) => column),
  'external_author_id',
] as readonly DetailColumn[]
export type DetailColumn = ResultFieldsFrom<'details'> | 'external_author_id'
type DetailRow = Pick<DocumentRow, DetailColumn>

export function detailsOf(row: DetailRow): DetailValues {
  const details: Record<string, unknown> = {}
  for (const field of detailRows) details[field.property] = readColumn(row, field)
  const author = details.author as { readonly nickname?: string | null } | null
  details.author = author && { externalAuthorId: row.external_author_id, nickname: author.nickname ?? null }
  return details as unknown as DetailValues
}

/** Converts the value of a column to the form that answers use. */
export function readColumn(row: object, { column, kind }: ColumnRow): unknown {
  const stored = (row as Readonly<Record<string, unknown>>)[column]
  if (kind === 'texts') return valuesOf(stored as string | null)
  if (kind === 'author') return stored === null ? null : JSON.parse(stored as string)
  return kind === 'status' ? statusOf(row as Pick<DocumentRow, 'status'>) : stored
}

/** The values of a list that is stored as JSON. An empty list is stored as null. */
export const valuesOf = (json: string | null): readonly string[] => (json === null ? [] : JSON.parse(json))

export function knownDocument(row: DocumentRow): KnownDocument {
  const document: Record<string, unknown> = {}
  for (const { property, column } of documentColumns) document[property] = row[column as keyof DocumentRow]
  document.status = statusOf(row)
  return document as unknown as KnownDocument
}

export function documentRow(document: KnownDocument): DocumentRow {
  const row: Record<string, unknown> = {}
  for (const { property, column } of documentColumns) row[column] = document[property as keyof KnownDocument]
  return row as unknown as DocumentRow
}

export const versionRow = (version: BatchRecord['versions'][number]): DocumentVersionRow => ({
  version_id: version.versionId,
  document_id: version.documentId,
  title: version.title,
  body: version.body,
  language: version.language,
  published_at: version.publishedAt,
  index_revision: version.indexRevision,
})

export const snapshotRow = (snapshot: BatchRecord['snapshots'][number]): SnapshotRow => ({
  snapshot_id: snapshot.snapshotId,
  document_id: snapshot.documentId,
  observed_at: snapshot.observedAt,
  score: snapshot.score,
  metrics: snapshot.metrics,
})

export const factSetRow = (set: BatchRecord['factSets'][number]): FactSetRow => ({
  fact_set_id: set.factSetId,
  document_id: set.documentId,
  version_id: set.versionId,
  facts: JSON.stringify(set.facts),
})

type NewEvent = Omit<BatchRecord['events'][number], 'type'> & { readonly type: EventType }

export const eventRow = (event: NewEvent): Insertable<EventRow> => ({
  event_id: event.eventId,
  event_type: event.type,
  dataset_id: event.datasetId,
  source_platform: event.platform,
  document_id: event.documentId,
  version_id: event.versionId,
  changed_fields: JSON.stringify(event.changedFields),
  occurred_at: event.occurredAt,
  observed_at: event.observedAt,
  ingested_at: event.ingestedAt,
  opened_by: event.before === null ? event.openedBy : event.openedBy | openedBy.moved,
  language: event.now.language,
  region: event.now.region,
  published_at: event.now.publishedAt,
  language_before: event.before?.language ?? null,
  region_before: event.before?.region ?? null,
  published_before: event.before?.publishedAt ?? null,
})

/** The terms that a change adds to a document. */
export function termsAdded({ before, document }: DocumentState): DocumentTermRow[] {
  const known = new Set(before === null ? [] : termsOf(before).map(termKey))
  return termsOf(document).filter((term) => !known.has(termKey(term)))
}

export function termsRemoved({ before, document }: DocumentState): DocumentTermRow[] {
  const kept = new Set(termsOf(document).map(termKey))
  return before === null ? [] : termsOf(before).filter((term) => !kept.has(termKey(term)))
}

export function termsOf(document: KnownDocument): DocumentTermRow[] {
  const values = document as unknown as Readonly<Record<string, string | null>>
  return termRows.flatMap(({ property, kind, filter }) => {
    const stored = values[property] ?? null
    const texts = kind === 'texts' ? valuesOf(stored) : stored === null ? [] : [stored]
    const { datasetId, documentId } = document
    return texts.map((value) => ({ kind: filter.term!, value, dataset_id: datasetId, document_id: documentId }))
  })
}

const termKey = (term: DocumentTermRow): string => `${term.kind} ${term.value}`
