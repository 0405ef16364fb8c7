import type { Kysely } from 'kysely'
import type { ChangeEvent, ChangeLog, ChangeQuery } from '../../changes/change-log.ts'
import { eventsText } from '../../changes/event-text.ts'
import type { Tables } from './tables.ts'

export function sqlChangeLog(db: Kysely<Tables>): ChangeLog {
  const state = async () => {
    const newest = await db
      .selectFrom('event')
      .select('sequence')
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    const { removed_through } = await db.selectFrom('feed_state').select('removed_through').executeTakeFirstOrThrow()
    return { newest: Math.max(newest?.sequence ?? 0, removed_through), removedThrough: removed_through }
  }

  return {
    state,

    async read(query) {
      const { newest, removedThrough } = await state()
      const after = query.after ?? removedThrough
      const lastScanned = Math.min(newest, after + query.scanMax)
      const rows = lastScanned <= after ? [] : await matching(db, query, after, lastScanned).execute()
      // A full page ends at its last event; otherwise everything up to the end of the scan has been looked at.
      const full = rows.length === query.limit
      const position = full ? rows.at(-1)!.sequence : Math.max(after, lastScanned)
      return {
        text: eventsText(rows.map(eventOf)),
        count: rows.length,
        position,
        atEnd: position >= newest,
        removedThrough,
      }
    },

    async removeBefore(timeMs, most) {
      const { removedThrough } = await state()
      const oldest = await db
        .selectFrom('event')
        .select(['sequence', 'ingested_at'])
        .where('sequence', '>', removedThrough)
        .orderBy('sequence')
        .limit(most)
        .execute()
      // Stops at the first event that stays, so that what is gone is always a beginning of the sequence.
      const staysAt = oldest.findIndex((row) => row.ingested_at >= timeMs)
      const gone = staysAt < 0 ? oldest : oldest.slice(0, staysAt)
      const last = gone.at(-1)
      if (last === undefined) return 0
      await db.deleteFrom('event').where('sequence', '<=', last.sequence).execute()
      await db.updateTable('feed_state').set({ removed_through: last.sequence }).execute()
      return gone.length
    },
  }
}

function matching(db: Kysely<Tables>, query: ChangeQuery, after: number, lastScanned: number) {
  let select = db
    .selectFrom('event')
    .selectAll()
    .where('sequence', '>', after)
    .where('sequence', '<=', lastScanned)
    .where((eb) =>
      eb.or(
        query.allowed.map(({ datasets, platforms }) => {
          const dataset = eb('dataset_id', 'in', datasets)
          return platforms === null ? dataset : eb.and([dataset, eb('source_platform', 'in', platforms)])
        }),
      ),
    )
    .orderBy('sequence')
    .limit(query.limit)
  if (query.eventTypes !== null) select = select.where('event_type', 'in', query.eventTypes)
  if (query.ingestedFrom !== null) select = select.where('ingested_at', '>=', query.ingestedFrom)
  if (query.ingestedTo !== null) select = select.where('ingested_at', '<', query.ingestedTo)
  return select
}

function eventOf(row: {
  sequence: number
  event_id: string
  event_type: string
  dataset_id: string
  source_platform: string
  document_id: string
  version_id: string | null
  changed_fields: string
  occurred_at: number
  observed_at: number
  ingested_at: number
}): ChangeEvent {
  return {
    sequence: row.sequence,
    eventId: row.event_id,
    eventType: row.event_type,
    datasetId: row.dataset_id,
    platform: row.source_platform,
    documentId: row.document_id,
    versionId: row.version_id,
    changedFields: changedFields(row.changed_fields),
    occurredAt: row.occurred_at,
    observedAt: row.observed_at,
    ingestedAt: row.ingested_at,
  }
}

/** The few lists that there are, each parsed once. */
const fieldLists = new Map<string, readonly string[]>()
const fieldListsMax = 1000

function changedFields(json: string): readonly string[] {
  let fields = fieldLists.get(json)
  if (fields === undefined) {
    fields = Object.freeze(JSON.parse(json) as string[])
    if (fieldLists.size >= fieldListsMax) fieldLists.clear()
    fieldLists.set(json, fields)
  }
  return fields
}
