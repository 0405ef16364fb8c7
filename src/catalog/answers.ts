import type { Static } from 'typebox'
import { documentStatuses } from '../ingest/content-store.ts'
import { Type } from '../schema-types.ts'
import { formatTime } from '../time.ts'
import { choice, dateTime, named, orNull } from '../validation.ts'
import type { SnapshotRecord } from './catalog-store.ts'

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
      description: 'As collected; any field may be null. Extra fields sent by the collector are included.',
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
    title: Type.Optional(orNull(Type.String({ description: 'Needs the permission `title`.' }))),
    content_type: orNull(Type.String()),
    language: orNull(Type.String()),
    region: orNull(Type.String()),
    status: choice(documentStatuses, {
      description: '`unavailable`: deleted or hidden on the platform, as last reported by the collector.',
    }),
    current_version_id: Type.String(),
    published_at: orNull(dateTime),
    created_at: Type.String({ format: 'date-time', description: 'When the document was first ingested.' }),
    observed_at: Type.String({ format: 'date-time', description: 'When the collector last saw a change.' }),
    author: Type.Optional(orNull(Author)),
    topics: Type.Optional(Type.Array(Type.String(), { description: 'Needs the permission `metadata`.' })),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'Needs the permission `metadata`.' })),
    classifications: Type.Optional(
      Type.Array(Type.String(), { description: 'Classification codes. Needs the permission `facts`.' }),
    ),
    score: Type.Optional(orNull(Type.Integer({ description: 'Needs the permission `metrics`.' }))),
  }),
)

export function snapshotAnswer(snapshot: SnapshotRecord): Static<typeof Snapshot> {
  return {
    snapshot_id: snapshot.snapshotId,
    observed_at: formatTime(snapshot.observedAt),
    score: snapshot.score,
    metrics: { ...snapshot.metrics },
  }
}
