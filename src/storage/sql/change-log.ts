import type { Kysely } from 'kysely'
import {
  type ChangeLog,
  type ChangeQuery,
  type Expiry,
  type FeedPosition,
  type FeedState,
  type PassedEvent,
  passedEvent,
} from '../../changes/change-log.ts'
import { type CurrentValues, type StoredEvent, selectVisibleEvents } from '../../changes/visible-events.ts'
import { mayBeReadable, storedTypes } from './event-readers.ts'
import type { Tables } from './tables.ts'

export function sqlChangeLog(db: Kysely<Tables>): ChangeLog {
  const newestEvent = db
    .selectFrom('event')
    .select(['sequence', 'event_id'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .compile()
  const feedState = db.selectFrom('feed_state').select('removed_through').compile()
  const state = async (expiry?: Expiry) => {
    const [newest] = (await db.executeQuery(newestEvent)).rows
    const removedThrough = (await db.executeQuery(feedState)).rows[0]!.removed_through
    const last = newest === undefined ? null : passedEvent(newest)
    return {
      newest: Math.max(last?.sequence ?? 0, removedThrough),
      removedThrough: expiry === undefined ? removedThrough : await expiredThrough(db, expiry, removedThrough),
      last,
    }
  }

  return {
    state,

    knows: async (position) => isInLog(db, position, await state()),

    async read(query) {
      const found = await state()
      const { newest, removedThrough } = found
      const after = query.after ?? Math.max(removedThrough, query.earliest ?? 0)
      const wasRolledBack = !(await isInLog(db, { position: after, passed: query.passed ?? null }, found))
      const lastScanned = Math.min(newest, after + query.scanMax)
      const rows = lastScanned <= after ? [] : await matching(db, query, after, lastScanned).execute()
      // A full page ends at its last event. Otherwise the whole range has been scanned.
      const full = rows.length === query.limit
      const scanned = rows.length > 0 ? lastScanned : await beforeNext(db, Math.max(after, lastScanned), newest)
      const position = full ? rows.at(-1)!.sequence : scanned
      return {
        events: selectVisibleEvents(rows, query.scope, query.eventTypes, await currentValuesOf(db, rows)),
        position,
        atEnd: position >= newest,
        removedThrough,
        passed: full ? passedEvent(rows.at(-1)!) : await lastUpTo(db, position, found),
        wasRolledBack,
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
      // Stops at the first event that stays, so that removed events are always a prefix of the sequence.
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

/** The last sequence that retention would remove now: that of the last event before the first one that stays. */
async function expiredThrough(
  db: Kysely<Tables>,
  { before, knownThrough }: Expiry,
  removedThrough: number,
): Promise<number> {
  const from = Math.max(removedThrough, knownThrough)
  const stays = await db
    .selectFrom('event')
    .select('sequence')
    .where('sequence', '>', from)
    .where('ingested_at', '>=', before)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  // Not the sequence before `stays`: there may be a wide gap, and cursors within it are valid.
  let last = db.selectFrom('event').select('sequence').where('sequence', '>', from).orderBy('sequence', 'desc').limit(1)
  if (stays !== undefined) last = last.where('sequence', '<', stays.sequence)
  return (await last.executeTakeFirst())?.sequence ?? from
}

/** An event that retention has removed counts as part of the log, because it can no longer be compared. */
async function isInLog(
  db: Kysely<Tables>,
  { position, passed }: FeedPosition,
  { newest, removedThrough, last }: FeedState,
): Promise<boolean> {
  if (position > newest) return false
  if (passed === null || passed.sequence <= removedThrough) return true
  if (passed.sequence === last?.sequence) return passed.mark === last.mark
  const there = await db
    .selectFrom('event')
    .select(['sequence', 'event_id'])
    .where('sequence', '=', passed.sequence)
    .executeTakeFirst()
  return there !== undefined && passedEvent(there).mark === passed.mark
}

async function lastUpTo(db: Kysely<Tables>, position: number, { last }: FeedState): Promise<PassedEvent | null> {
  if (last === null || last.sequence <= position) return last
  const row = await db
    .selectFrom('event')
    .select(['sequence', 'event_id'])
    .where('sequence', '<=', position)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : passedEvent(row)
}

/** Skips a gap in the sequence with one query. A restore leaves a wide one. */
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
    .where(mayBeReadable(query.scope, query.eventTypes))
    .where('event_type', 'in', storedTypes(query.scope, query.eventTypes))
    .orderBy('sequence')
    .limit(query.limit)
  if (query.ingestedFrom !== null) select = select.where('ingested_at', '>=', query.ingestedFrom)
  if (query.ingestedTo !== null) select = select.where('ingested_at', '<', query.ingestedTo)
  return select
}

/** The current values of the documents to which events of earlier versions refer. */
async function currentValuesOf(
  db: Kysely<Tables>,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<string, CurrentValues>> {
  const ids = new Set(events.filter((event) => event.opened_by === null).map((event) => event.document_id))
  if (ids.size === 0) return new Map()
  const documents = await db
    .selectFrom('document')
    .select(['document_id', 'language', 'region', 'published_at'])
    .where('document_id', 'in', [...ids])
    .execute()
  return new Map(documents.map((document) => [document.document_id, document]))
}
