import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Counts the rows of each status, up to `countedMax` for each, with an index that begins with the status. */
export async function countByStatus<Status extends string>(
  db: Kysely<Tables>,
  table: 'live_run' | 'analysis_run',
  statuses: readonly Status[],
  countedMax: number,
): Promise<Record<Status, number>> {
  const counts: [Status, number][] = []
  for (const status of statuses) {
    const some = db.selectFrom(table).select('run_id').where('status', '=', status).limit(countedMax)
    const { count } = await db
      .selectFrom(some.as('some'))
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    counts.push([status, Number(count)])
  }
  return Object.fromEntries(counts) as Record<Status, number>
}
