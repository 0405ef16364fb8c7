import { type Static, type TSchema, Type } from 'typebox'
import type { Fields, FieldsWith } from '../document/field-types.ts'
import { documentStatuses, type FieldKind } from '../document/fields.ts'
import { answerRows } from '../document/rows.ts'
import { formatTime } from '../platform/time.ts'
import { choice, dateTime, named, orNull } from '../platform/validation.ts'
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

/** The schema for each kind of value. */
const kinds = {
  text: Type.String,
  time: (about: About) => Type.String({ format: 'date-time', ...about }),
  integer: Type.Integer,
  number: Type.Number,
  status: (about: About) => choice(documentStatuses, about),
  texts: (about: About) => Type.Array(Type.String(), about),
  author: () => Author,
} as const satisfies Partial<Record<FieldKind, (about: About) => TSchema>>
type About = { readonly description?: string }

type KindSchema<Name extends FieldsWith<'answer'>> = ReturnType<(typeof kinds)[Fields[Name]['kind']]>
type IfKnown<Name extends FieldsWith<'answer'>> = Fields[Name] extends { required: true } | { kind: 'texts' }
  ? KindSchema<Name>
  : ReturnType<typeof orNull<KindSchema<Name>>>

/** Fields that need a permission are absent if no matching entitlement grants it. */
export const Document = named(
  'Document',
  Type.Object(
    Object.fromEntries(
      answerRows.map(({ name, kind, required, openedBy, answer }) => {
        const schema: TSchema = kinds[kind as keyof typeof kinds]({ ...answer })
        const known = required || kind === 'texts' ? schema : orNull(schema)
        return [name, openedBy === undefined ? known : Type.Optional(known)]
      }),
    ) as {
      [Name in FieldsWith<'answer'>]: Fields[Name] extends { openedBy: unknown }
        ? ReturnType<typeof Type.Optional<IfKnown<Name>>>
        : IfKnown<Name>
    },
  ),
)

export function snapshotAnswer(snapshot: SnapshotRecord): Static<typeof Snapshot> {
  return {
    snapshot_id: snapshot.snapshotId,
    observed_at: formatTime(snapshot.observedAt),
    score: snapshot.score,
    metrics: { ...snapshot.metrics },
  }
}
