import type { Kysely, RawBuilder } from 'kysely'
import type { ScopeEntry } from '../../access/scope.ts'
import { sql } from './kysely.ts'
import type { Tables } from './tables.ts'

/**
 * The documents of a scope by dataset, and by platform where that does not make them many: runs of an index each, in the
 * order of their ids. What else the scope asks, of languages, regions and times, is not looked at.
 */
export interface Lane {
  readonly dataset: string
  readonly platform: string | null
}

/** Lanes sought by one statement. */
const lanesMax = 64

export function lanesOf(entries: readonly Pick<ScopeEntry, 'datasets' | 'platforms'>[]): Lane[] {
  const lanes = new Map<string, Lane>()
  const add = (lane: Lane) => lanes.set(JSON.stringify([lane.dataset, lane.platform]), lane)
  for (const { datasets, platforms } of entries) {
    const apart = platforms !== null && datasets.length * platforms.length <= lanesMax ? platforms : [null]
    for (const dataset of datasets) for (const platform of apart) add({ dataset, platform })
  }
  // No document may stand in two lanes.
  return [...lanes.values()].filter(
    ({ dataset, platform }) => platform === null || !lanes.has(JSON.stringify([dataset, null])),
  )
}

export const isInLane = ({ dataset, platform }: Lane): RawBuilder<boolean> =>
  platform === null
    ? sql<boolean>`dataset_id = ${dataset}`
    : sql<boolean>`dataset_id = ${dataset} and source_platform = ${platform}`

/** The rows of a query for each lane, in no particular order. */
export async function alongLanes<Row>(
  db: Kysely<Tables>,
  lanes: readonly Lane[],
  query: (lane: Lane, number: number) => RawBuilder<unknown>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < lanes.length; from += lanesMax) {
    const queries = lanes.slice(from, from + lanesMax).map((lane, i) => query(lane, from + i))
    rows.push(...(await sql<Row>`${sql.join(queries, sql` union all `)}`.execute(db)).rows)
  }
  return rows
}
