import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { firstIdAt } from '../../platform/ids.ts'
import { type ListCondition, listConditions, rowConditions } from './browse-conditions.ts'
import { type Driver, driversOf, type LaneLookup, type LaneSet, listingIndexes } from './browse-lanes.ts'
import { dayExpression } from './buckets.ts'
import { valuesOf } from './document-rows.ts'
import type { Tables } from './tables.ts'

/**
 * Finds a page of a listing by keyset paging. Every index of a listing ends in `document_id`, and listings are ordered
 * by it. So an index range with equal leading columns (a lane) is already sorted, and a cursor is just a smaller upper
 * bound.
 *
 * The page is collected in steps, from the newest document down:
 * 1. For each condition, its index alone tells how far down its next few documents reach. The condition that reaches
 *    furthest is the rarest one here: within that range, only its documents can match.
 * 2. These documents are fetched, and all other conditions are checked on them. The matches are sorted and belong to
 *    the page.
 * 3. While the page is not full, the next step starts where this one ended. It is larger if there were few matches.
 *
 * So a tag on three documents costs three documents, a tag on half of all documents costs one page, and two common tags
 * that rarely occur together cost as much as the rarer one. Each step reads a bounded number of entries, and the
 * deadline is checked between steps.
 */
export async function browseIds(db: Kysely<Tables>, query: BrowseQuery): Promise<string[]> {
  if (query.scope.entries.length === 0) return []
  const drivers = await driversOf(query, lookIn(db))
  const { from, below: newest } = boundsOf(query)
  const found: string[] = []
  let below = newest
  let size = query.limit
  while (from < below) {
    if (query.answerBy !== null && Date.now() > query.answerBy) {
      throw new UnavailableError('the listing passed its deadline')
    }
    const { driver, sets, floor } = await furthestReach(db, drivers, { from, below, size })
    const ids = new Set<string>()
    for (const set of sets.filter(({ lanes }) => lanes.length > 0)) {
      const scanned = await laneDocumentsQuery(set, driver.guarantees, query, floor ?? from, below).execute(db)
      const lists = listConditions(query, driver.guarantees)
      for (const row of scanned.rows) if (lists.every((list) => has(row, list))) ids.add(row.document_id)
    }
    found.push(
      ...[...ids]
        .sort()
        .reverse()
        .slice(0, query.limit - found.length),
    )
    if (floor === null || found.length >= query.limit) break
    below = floor
    const missing = query.limit - found.length
    const factor = Math.min(16, Math.max(2, (1.5 * missing) / Math.max(1, ids.size)))
    size = Math.min(stepMax, Math.ceil(size * factor))
  }
  return found
}

/**
 * A step reads at most about four times this many entries of all lanes together, which takes some tens of milliseconds.
 */
const stepMax = 8192

interface Range {
  /** Ids from `from`, inclusive, to `below`, exclusive. */
  readonly from: string
  readonly below: string
  /** The approximate number of documents that a step should read. */
  readonly size: number
}

interface Reach {
  readonly driver: Driver
  /** For each part, the set of lanes that reaches furthest. */
  readonly sets: readonly LaneSet[]
  /**
   * Every lane has at most its share of entries at or above this id. Null: the lanes reach to the end of the window.
   */
  readonly floor: string | null
}

async function furthestReach(db: Kysely<Tables>, drivers: readonly Driver[], range: Range): Promise<Reach> {
  let best: Reach | null = null
  for (const driver of drivers) {
    const reach = await reachOf(db, driver, range, best?.floor ?? null)
    if (reach === null) continue
    if (reach.floor === null) return reach
    best = reach
  }
  return best!
}

/** Returns null as soon as it is clear that this driver does not reach further than `toBeat`. */
async function reachOf(db: Kysely<Tables>, driver: Driver, range: Range, toBeat: string | null): Promise<Reach | null> {
  const sets: LaneSet[] = []
  let floor: string | null = null
  for (const alternatives of driver.parts) {
    let chosen: { set: LaneSet; floor: string | null } | null = null
    for (const set of alternatives) {
      const reached =
        set.lanes.length === 0 ? null : ((await laneFloorQuery(set, range).execute(db)).rows[0]?.floor ?? null)
      if (chosen === null || reached === null || reached < chosen.floor!) chosen = { set, floor: reached }
      if (reached === null) break
    }
    sets.push(chosen!.set)
    const { floor: partFloor } = chosen!
    if (partFloor !== null && toBeat !== null && partFloor >= toBeat) return null
    if (partFloor !== null && (floor === null || partFloor > floor)) floor = partFloor
  }
  return { driver, sets, floor }
}

/**
 * Finds how far down the next entries of some lanes reach: the largest id at or above which a lane has its whole share
 * of entries. The share is between `size / lanes`, which suits lanes of equal length, and `size`, which suits a lane
 * that holds nearly all entries.
 */
export function laneFloorQuery(set: LaneSet, { from, below, size }: Range): RawBuilder<{ floor: string | null }> {
  const share = Math.ceil(Math.min(size / Math.sqrt(set.lanes.length), (4 * stepMax) / set.lanes.length))
  const { table } = listingIndexes[set.index]
  return sql`select max(floor) as floor from (select (select lane_key.document_id from ${sql.table(table)} as lane_key where ${inLane(set)} and lane_key.document_id >= ${from} and lane_key.document_id < ${below} order by lane_key.document_id desc limit 1 offset ${share - 1}) as floor from ${lanesOf(set)}) as floors`
}

/** A document of a step: its id, and the lists that must still be checked. */
type Scanned = { readonly document_id: string } & { readonly [column: string]: string | null }

function has(scanned: Scanned, { row: { column, kind }, values }: ListCondition): boolean {
  const stored = scanned[column] ?? null
  const texts = kind === 'texts' ? valuesOf(stored) : [stored]
  return texts.some((text) => text !== null && values.has(text))
}

/** The documents of lanes between two ids that meet all conditions except `listConditions`, in no order. */
export function laneDocumentsQuery(
  set: LaneSet,
  guaranteed: number | null,
  query: BrowseQuery,
  from: string,
  below: string,
): RawBuilder<Scanned> {
  const between = sql`${inLane(set)} and lane_key.document_id >= ${from} and lane_key.document_id < ${below}`
  const { table } = listingIndexes[set.index]
  const row = table === 'document' ? 'lane_key' : 'found'
  const columns = [
    'lane_key.document_id',
    ...listConditions(query, guaranteed).map((list) => `${row}.${list.row.column}`),
  ]
  const select = sql`select ${sql.join(columns.map((column) => sql.ref(column)))} from ${lanesOf(set)} cross join ${sql.table(table)} as lane_key`
  const tests = rowConditions(query, row, 'lane_key', guaranteed)
  if (table === 'document') return sql`${select} where ${between} and ${tests}`
  return sql`${select} cross join document as found where ${between} and found.document_id = lane_key.document_id and ${tests}`
}

/**
 * The lanes as a table `lane`. It is one flat fragment, because there can be thousands of lanes. Numbers come from this
 * code and not from requests, so they can be literals.
 */
export function lanesOf(set: LaneSet): RawBuilder<unknown> {
  const texts = ['(values (']
  const parameters: string[] = []
  set.lanes.forEach((lane, row) => {
    if (row > 0) texts[texts.length - 1] += '), ('
    const values = lane.length === 0 ? [0] : lane
    values.forEach((value, column) => {
      if (column > 0) texts[texts.length - 1] += ', '
      if (typeof value === 'number') texts[texts.length - 1] += String(value)
      else {
        parameters.push(value)
        texts.push('')
      }
    })
  })
  texts[texts.length - 1] += ')) as lane'
  return sql(Object.assign(texts, { raw: texts }), ...parameters)
}

export function inLane({ index }: LaneSet): RawBuilder<unknown> {
  const tests = listingIndexes[index].leading.map((column, i) => `${column('lane_key')} = lane.column${i + 1}`)
  return sql.raw(tests.length === 0 ? '1 = 1' : tests.join(' and '))
}

/** Ids begin with their time. Without a window the bounds are the first and the last possible id. */
function boundsOf(query: BrowseQuery): { from: string; below: string } {
  const end = query.createdTo === null ? 'doc_zzzzzzzzzz' : firstIdAt('doc', query.createdTo)
  return {
    from: firstIdAt('doc', query.createdFrom ?? 0),
    below: query.before !== null && query.before < end ? query.before : end,
  }
}

export function lookIn(db: Kysely<Tables>): LaneLookup {
  return {
    async publishedDays(datasets) {
      const day = sql.raw(dayExpression('document.published_at'))
      // Days are counted from 1970. The bound excludes documents without a publication time.
      const end = (order: RawBuilder<unknown>) =>
        sql`(select ${day} from document where document.dataset_id = lane.column1 and ${day} > -1000000 order by ${day} ${order} limit 1)`
      const lanes = lanesOf({ index: 'document_by_dataset', lanes: datasets.map((dataset) => [dataset]) })
      const query = sql<{
        first: number | null
        last: number | null
      }>`select min(low) as first, max(high) as last from (select ${end(sql`asc`)} as low, ${end(sql`desc`)} as high from ${lanes}) as days`
      const { first, last } = (await query.execute(db)).rows[0]!
      return first === null || last === null ? null : { first: Number(first), last: Number(last) }
    },

    // A loose index scan: one look-up for each dataset that occurs.
    async datasetsOf(kind, values) {
      const lanes = lanesOf({ index: 'document_term_pk', lanes: values.map((value) => [value]) })
      const least = (value: RawBuilder<unknown>, after: RawBuilder<unknown>) =>
        sql`(select min(term.dataset_id) from document_term as term where term.kind = ${sql.lit(kind)} and term.value = ${value}${after})`
      const query = sql<{
        value: string
        dataset: string
      }>`with recursive occurs (value, dataset) as (select lane.column1, ${least(sql`lane.column1`, sql``)} from ${lanes} union all select occurs.value, ${least(sql`occurs.value`, sql` and term.dataset_id > occurs.dataset`)} from occurs where occurs.dataset is not null) select value, dataset from occurs where dataset is not null`
      return (await query.execute(db)).rows
    },
  }
}
