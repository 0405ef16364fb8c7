import type { Kysely } from 'kysely'
import type { ClockStore } from '../../operator/clock-store.ts'
import { formatOptionalTime, formatTime } from '../../platform/time.ts'
import { auditErasure as audit } from './audit-erasure.ts'
import type { Tables } from './tables.ts'

export function sqlClockStore(db: Kysely<Tables>): ClockStore {
  const trustedUntil = async (): Promise<number | null> =>
    (await db.selectFrom('clock').select('believed_until').executeTakeFirst())?.believed_until ?? null

  const keep = async (believed_until: number): Promise<void> => {
    await db
      .insertInto('clock')
      .values({ one: 1, believed_until })
      .onConflict((conflict) => conflict.column('one').doUpdateSet({ believed_until }))
      .execute()
  }

  return {
    trustedUntil,

    async newestTime() {
      const event = await db
        .selectFrom('event')
        .select('ingested_at as at')
        .orderBy('sequence', 'desc')
        .limit(1)
        .executeTakeFirst()
      const line = await db.selectFrom('audit').select('at').orderBy('audit_id', 'desc').limit(1).executeTakeFirst()
      const key = await db
        .selectFrom('api_key')
        .select(({ fn }) => fn.max('last_used_at').as('at'))
        .executeTakeFirst()
      const times = [event, line, key].flatMap((row) => (row?.at == null ? [] : [Number(row.at)]))
      return times.length === 0 ? null : Math.max(...times)
    },

    trust: keep,

    async confirm(mark) {
      const detail = { clock: formatTime(mark.at), believedBefore: formatOptionalTime(await trustedUntil()) }
      await keep(mark.at)
      await audit(db, 'clock.confirm', 'clock', detail, mark)
    },
  }
}
