import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** How many rows have each state, counted no further than so many: by an index that begins with the state. */
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
