import type { Kysely } from 'kysely'
import { passedEvent } from '../../changes/change-log.ts'
import type { HistoryLoss, HistoryMark, HistoryStore, LostTime } from '../../operator/history-store.ts'
import { idTimeMs, newId } from '../../platform/ids.ts'
import { auditErasure as audit } from './audit-erasure.ts'
import { sqlChangeLog } from './change-log.ts'
import { lastRevision } from './index-revisions.ts'
import type { MigrationDialect } from './migrations/migration.ts'
import type { Tables } from './tables.ts'

/**
 * More events than can have been written in the lost time. Readers of the feed may have seen those events, so new
 * events must have higher numbers, or these readers would never see them.
 */
const eventsSkipped = 1_000_000_000

/** More than the runs of a subscription in a year, at one each minute. */
const turnsSkipped = 1_000_000

const actor = 'history'

export function sqlHistoryStore(db: Kysely<Tables>, dialect: Pick<MigrationDialect, 'skipNumbers'>): HistoryStore {
  const feed = sqlChangeLog(db)
  const auditEntry = async (order: 'asc' | 'desc') =>
    (await db.selectFrom('audit').select('audit_id').orderBy('audit_id', order).limit(1).executeTakeFirst())
      ?.audit_id ?? null

  const lastLoss = async (): Promise<HistoryLoss | null> => {
    const row = await db.selectFrom('history').selectAll().orderBy('history_id', 'desc').limit(1).executeTakeFirst()
    return row === undefined ? null : { historyId: row.history_id, noticedAt: row.noticed_at, why: row.why }
  }

  const mark = async (): Promise<HistoryMark> => ({
    instance: await auditEntry('asc'),
    historyId: (await lastLoss())?.historyId ?? null,
    lastEvent: (await feed.state()).last,
    lastAudit: await auditEntry('desc'),
  })

  const lacks = async (known: HistoryMark): Promise<string | null> => {
    const now = await mark()
    if (known.instance !== null && now.instance !== null && known.instance !== now.instance) return null
    if (known.historyId !== now.historyId) {
      const isKnown = known.historyId === null || (await has(db, 'history', known.historyId))
      return isKnown ? null : 'the record of an earlier loss is missing'
    }
    const { newest, removedThrough } = await feed.state()
    const { lastEvent, lastAudit } = known
    if (lastEvent !== null && lastEvent.sequence > removedThrough) {
      const there = await db
        .selectFrom('event')
        .select(['sequence', 'event_id'])
        .where('sequence', '=', lastEvent.sequence)
        .executeTakeFirst()
      if (there === undefined) return `its last event was ${lastEvent.sequence}, and is now ${newest}`
      if (passedEvent(there).mark !== lastEvent.mark) return `event ${lastEvent.sequence} is now a different event`
    }
    if (lastAudit === null || (await has(db, 'audit', lastAudit))) return null
    return `the entry ${lastAudit} is missing from its audit log`
  }

  return {
    mark,
    lacks,
    lastLoss,

    async startNewHistory(lost: LostTime, nowMs) {
      const why = 'indexedThrough' in lost ? await reasonFromIndex(db, lost.indexedThrough) : await lacks(lost)
      if (why === null) return null
      const before = await lastLoss()
      // Later than the last loss, even if the clock was set back since, because losses are compared by their order.
      const madeAt = before === null ? nowMs : Math.max(nowMs, idTimeMs(before.historyId) + 1)
      const found: HistoryLoss = { historyId: newId('his', madeAt), noticedAt: nowMs, why }
      // Above the mark too, because the store may also have lost an earlier loss, with the numbers that it skipped.
      await skipPositions(db, dialect, 'indexedThrough' in lost ? 0 : (lost.lastEvent?.sequence ?? 0))
      await db.insertInto('history').values({ history_id: found.historyId, noticed_at: nowMs, why }).execute()
      await audit(db, 'history.begin', found.historyId, { why }, { actor, at: nowMs })
      return found
    },
  }
}

/** Moves positions above all that may have been used in the lost time. */
export async function skipPositions(
  db: Kysely<Tables>,
  dialect: Pick<MigrationDialect, 'skipNumbers'>,
  knownThrough = 0,
): Promise<void> {
  await dialect.skipNumbers(db, 'event', 'sequence', knownThrough + eventsSkipped)
  await db
    .updateTable('analysis_subscription')
    .set((eb) => ({ turn: eb('turn', '+', turnsSkipped) }))
    .execute()
}

async function reasonFromIndex(db: Kysely<Tables>, indexedThrough: number): Promise<string | null> {
  const newest = await lastRevision(db)
  if (indexedThrough <= newest) return null
  return `the search index has revision ${indexedThrough}, and the newest one in the store is ${newest}`
}

async function has(db: Kysely<Tables>, table: 'history' | 'audit', id: string): Promise<boolean> {
  const row =
    table === 'history'
      ? await db.selectFrom('history').select('history_id').where('history_id', '=', id).executeTakeFirst()
      : await db.selectFrom('audit').select('audit_id').where('audit_id', '=', id).executeTakeFirst()
  return row !== undefined
}
