import type { Insertable } from 'kysely'
import type { EventType } from '../../changes/change-log.ts'
import type { DocumentStatus } from '../../ingest/content-store.ts'
import type { BatchRecord, DocumentState, KnownDocument } from '../../ingest/document-state.ts'
import type { DocumentRow, DocumentTermRow, DocumentVersionRow, EventRow, FactSetRow, SnapshotRow } from './tables.ts'

/** Documents, and what is kept with them, between the words of `ingest/` and those of the tables. */

export const termKinds = { topic: 1, tag: 2, classification: 3 } as const

export const statusOf = (row: Pick<DocumentRow, 'status'>): DocumentStatus =>
  row.status === 'unavailable' ? 'unavailable' : 'active'

/** What a result shows of a document beside its texts. */
export const detailColumns = [
  'external_id',
  'url',
  'external_author_id',
  'author',
  'topics',
  'tags',
] as const satisfies readonly (keyof DocumentRow)[]

export function detailsOf(row: Pick<DocumentRow, (typeof detailColumns)[number]>) {
  const author = row.author === null ? null : (JSON.parse(row.author) as { readonly nickname?: string | null })
  return {
    externalId: row.external_id,
    url: row.url,
    author: author && { externalAuthorId: row.external_author_id, nickname: author.nickname ?? null },
    topics: valuesOf(row.topics),
    tags: valuesOf(row.tags),
  }
}

/** The values of a list that is kept as JSON, null where it is empty. */
export const valuesOf = (json: string | null): readonly string[] => (json === null ? [] : JSON.parse(json))

export function knownDocument(row: DocumentRow): KnownDocument {
  return {
    documentId: row.document_id,
    datasetId: row.dataset_id,
    platform: row.source_platform,
    externalId: row.external_id,
    url: row.url,
    contentType: row.content_type,
    language: row.language,
    region: row.region,
    status: statusOf(row),
    publishedAt: row.published_at,
    observedAt: row.observed_at,
    updatedAt: row.updated_at,
    title: row.title,
    externalAuthorId: row.external_author_id,
    author: row.author,
    topics: row.topics,
    tags: row.tags,
    facts: row.facts,
    classifications: row.classifications,
    score: row.score,
    metrics: row.metrics,
    snapshotId: row.snapshot_id,
    quality: row.quality,
    extraPayload: row.extra_payload,
    bodyHash: row.body_hash,
    currentVersionId: row.current_version_id,
    versionCount: row.version_count,
    indexRevision: row.index_revision,
  }
}

export function documentRow(document: KnownDocument): DocumentRow {
  return {
    document_id: document.documentId,
    dataset_id: document.datasetId,
    source_platform: document.platform,
    external_id: document.externalId,
    url: document.url,
    content_type: document.contentType,
    language: document.language,
    region: document.region,
    status: document.status,
    published_at: document.publishedAt,
    observed_at: document.observedAt,
    updated_at: document.updatedAt,
    title: document.title,
    external_author_id: document.externalAuthorId,
    author: document.author,
    topics: document.topics,
    tags: document.tags,
    facts: document.facts,
    classifications: document.classifications,
    score: document.score,
    metrics: document.metrics,
    snapshot_id: document.snapshotId,
    quality: document.quality,
    extra_payload: document.extraPayload,
    body_hash: document.bodyHash,
    current_version_id: document.currentVersionId,
    version_count: document.versionCount,
    index_revision: document.indexRevision,
  }
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
})

/** What a listing finds a document by. */
export function termsAdded({ before, document }: DocumentState): DocumentTermRow[] {
  const known = new Set(before === null ? [] : termsOf(before).map(termKey))
  return termsOf(document).filter((term) => !known.has(termKey(term)))
}

export function termsRemoved({ before, document }: DocumentState): DocumentTermRow[] {
  const kept = new Set(termsOf(document).map(termKey))
  return before === null ? [] : termsOf(before).filter((term) => !kept.has(termKey(term)))
}

export function termsOf({ datasetId, documentId, topics, tags, classifications }: KnownDocument): DocumentTermRow[] {
  const terms: DocumentTermRow[] = []
  const add = (kind: number, json: string | null): void => {
    if (json === null) return
    for (const value of JSON.parse(json) as string[]) {
      terms.push({ kind, value, dataset_id: datasetId, document_id: documentId })
    }
  }
  add(termKinds.topic, topics)
  add(termKinds.tag, tags)
  add(termKinds.classification, classifications)
  return terms
}

const termKey = (term: DocumentTermRow): string => `${term.kind} ${term.value}`
