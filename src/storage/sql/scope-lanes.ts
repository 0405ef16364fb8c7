import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { ScopeEntry } from '../../access/scope.ts'
import type { Tables } from './tables.ts'

/**
 * The documents of a scope as index runs in the order of their ids: one lane for each dataset, or for each dataset and
 * platform if these are few. A lane ignores the scope's other conditions: languages, regions and times.
 */
export interface Lane {
  readonly dataset: string
  readonly platform: string | null
}

/** The maximum number of lanes that one statement reads. */
const lanesMax = 64

export function lanesOf(entries: readonly Pick<ScopeEntry, 'datasets' | 'platforms'>[]): Lane[] {
  const lanes = new Map<string, Lane>()
  const add = (lane: Lane) => lanes.set(JSON.stringify([lane.dataset, lane.platform]), lane)
  for (const { datasets, platforms } of entries) {
    const separate = platforms !== null && datasets.length * platforms.length <= lanesMax ? platforms : [null]
    for (const dataset of datasets) for (const platform of separate) add({ dataset, platform })
  }
  // No document may be in two lanes.
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
