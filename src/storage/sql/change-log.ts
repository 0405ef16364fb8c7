import type { Kysely } from 'kysely'
import type { ChangeLog, ChangeQuery } from '../../changes/change-log.ts'
import { eventsText } from '../../changes/events-text.ts'
import type { Tables } from './tables.ts'

export function sqlChangeLog(db: Kysely<Tables>): ChangeLog {
  const newestEvent = db.selectFrom('event').select('sequence').orderBy('sequence', 'desc').limit(1).compile()
  const feedState = db.selectFrom('feed_state').select('removed_through').compile()
  const state = async () => {
    const [newest] = (await db.executeQuery(newestEvent)).rows
    const removedThrough = (await db.executeQuery(feedState)).rows[0]!.removed_through
    return { newest: Math.max(newest?.sequence ?? 0, removedThrough), removedThrough }
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
      const scanned = rows.length > 0 ? lastScanned : await beforeNext(db, Math.max(after, lastScanned), newest)
      const position = full ? rows.at(-1)!.sequence : scanned
      return {
        text: eventsText(rows),
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

/** A restore leaves a wide gap in the sequence: one look leads over it. */
export async function beforeNext(db: Kysely<Tables>, position: number, newest: number): Promise<number> {
  if (position >= newest) return position
  const next = await db
    .selectFrom('event')
    .select('sequence')
    .where('sequence', '>', position)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  return next === undefined ? position : next.sequence - 1
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
    .where('event_type', 'in', query.eventTypes)
    .orderBy('sequence')
    .limit(query.limit)
  if (query.ingestedFrom !== null) select = select.where('ingested_at', '>=', query.ingestedFrom)
  if (query.ingestedTo !== null) select = select.where('ingested_at', '<', query.ingestedTo)
  return select
}
