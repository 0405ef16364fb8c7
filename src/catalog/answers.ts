import { type Static, Type } from 'typebox'
import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import { documentStatuses } from '../ingest/content-store.ts'
import { formatOptionalTime, formatTime } from '../time.ts'
import { choice, dateTime, named, orNull } from '../validation.ts'
import type { DocumentRecord, SnapshotRecord } from './catalog-store.ts'

export const Author = named(
  'Author',
  Type.Object(
    {
      external_author_id: orNull(Type.String()),
      nickname: orNull(Type.String()),
      avatar_url: orNull(Type.String()),
      home_page: orNull(Type.String()),
      biography: orNull(Type.String()),
      follower_count: orNull(Type.Integer()),
      following_count: orNull(Type.Integer()),
      verified: orNull(Type.Boolean()),
    },
    {
      additionalProperties: Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
      description: 'As collected; any field may be null. Further fields are what the collector sent as extras.',
    },
  ),
)

export const Snapshot = named(
  'MetricSnapshot',
  Type.Object({
    snapshot_id: Type.String(),
    observed_at: dateTime,
    score: orNull(Type.Integer()),
    metrics: Type.Record(Type.String(), Type.Number()),
  }),
)

/** Fields that need a permission are absent where no matching entitlement grants it. */
export const Document = named(
  'Document',
  Type.Object({
    id: Type.String(),
    dataset_id: Type.String(),
    source_platform: Type.String(),
    external_id: Type.String(),
    url: orNull(Type.String()),
    title: Type.Optional(orNull(Type.String({ description: 'With `title`.' }))),
    content_type: orNull(Type.String()),
    language: orNull(Type.String()),
    region: orNull(Type.String()),
    status: choice(documentStatuses),
    current_version_id: Type.String(),
    published_at: orNull(dateTime),
    created_at: Type.String({ format: 'date-time', description: 'First-ingest time.' }),
    observed_at: dateTime,
    author: Type.Optional(orNull(Author)),
    topics: Type.Optional(Type.Array(Type.String(), { description: 'With `metadata`.' })),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'With `metadata`.' })),
    classifications: Type.Optional(Type.Array(Type.String(), { description: 'Codes. With `facts`.' })),
    score: Type.Optional(orNull(Type.Integer({ description: 'With `metrics`.' }))),
  }),
)

export interface ReadableDocument {
  readonly record: DocumentRecord
  readonly fields: ReadonlySet<FieldPermission>
}

/** The document with the fields the scope opens; null where it is not visible at all. */
export function readableDocument(record: DocumentRecord, scope: Scope): ReadableDocument | null {
  const fields = readableFields(scope, record)
  return fields === null ? null : { record, fields }
}

export function documentAnswer({ record, fields }: ReadableDocument): Static<typeof Document> {
  return {
    id: record.documentId,
    dataset_id: record.datasetId,
    source_platform: record.platform,
    external_id: record.externalId,
    url: record.url,
    ...(fields.has('title') ? { title: record.title } : {}),
    content_type: record.contentType,
    language: record.language,
    region: record.region,
    status: record.status,
    current_version_id: record.currentVersionId,
    published_at: formatOptionalTime(record.publishedAt),
    created_at: formatTime(record.createdAt),
    observed_at: formatTime(record.observedAt),
    ...(fields.has('author') || fields.has('metadata') ? { author: authorAnswer(record.author) } : {}),
    ...(fields.has('metadata') ? { topics: [...record.topics], tags: [...record.tags] } : {}),
    ...(fields.has('facts') ? { classifications: [...record.classifications] } : {}),
    ...(fields.has('metrics') ? { score: record.score } : {}),
  }
}

/** Extras stand beside the named fields and never take their place. */
export function authorAnswer(author: Readonly<Record<string, unknown>> | null): Static<typeof Author> | null {
  if (author === null) return null
  const { extra, ...named } = author
  const empty = Object.fromEntries(Object.keys(Author.properties).map((name) => [name, null]))
  return { ...(extra as object | undefined), ...empty, ...named } as Static<typeof Author>
}

export function snapshotAnswer(snapshot: SnapshotRecord): Static<typeof Snapshot> {
  return {
    snapshot_id: snapshot.snapshotId,
    observed_at: formatTime(snapshot.observedAt),
    score: snapshot.score,
    metrics: { ...snapshot.metrics },
  }
}
