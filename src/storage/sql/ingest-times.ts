import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Scope } from '../../access/scope.ts'
import type { IngestTimes } from '../../catalog/catalog-store.ts'
import { idTimeMs } from '../../platform/ids.ts'
import { isDocumentOpen } from './browse-conditions.ts'
import { inLane, lanesOf, lookIn } from './browse-ids.ts'
import { type LaneSet, listingIndexes, scopeDriver } from './browse-lanes.ts'
import type { Tables } from './tables.ts'

/** The maximum number of index entries that are read from one end, in all lanes together. */
const lookedMax = 20_000
/** The number of entries that the first step reads of each lane. Later steps read more. */
const sharesFirst = 16
const sharesFactor = 8

/**
 * First-ingest times of the oldest and the newest document that a scope opens. Walks the index runs that hold its
 * documents from both ends until it finds a document that is open, which is nearly always the first. Returns null if
 * there is none, or if finding one would take too long.
 */
export async function ingestTimes(db: Kysely<Tables>, scope: Scope): Promise<IngestTimes | null> {
  if (scope.entries.length === 0) return null
  const { parts } = await scopeDriver(scope.entries, lookIn(db))
  const sets = parts.map(mostSelective).filter(({ lanes }) => lanes.length > 0)
  const edges = async (end: End): Promise<string | null> => {
    const found: string[] = []
    for (const set of sets) {
      const edge = await edgeOf(db, set, scope, end)
      if (edge === 'unknown') return null
      if (edge !== null) found.push(edge)
    }
    found.sort()
    return (end === oldest ? found[0] : found.at(-1)) ?? null
  }
  const first = await edges(oldest)
  const last = first === null ? null : await edges(newest)
  return first === null || last === null ? null : { earliest: idTimeMs(first), latest: idTimeMs(last) }
}

interface End {
  readonly order: RawBuilder<unknown>
  readonly beyond: RawBuilder<unknown>
  readonly most: RawBuilder<unknown>
  /** Sorts before every id, seen from this end. */
  readonly start: string
}
const oldest: End = { order: sql`asc`, beyond: sql`>`, most: sql`min`, start: '' }
const newest: End = { order: sql`desc`, beyond: sql`<`, most: sql`max`, start: 'doc_zzzzzzzzzz' }

/** The most selective index first: a range of days has the fewest entries, and a whole dataset has the most. */
const bySelectivity: readonly LaneSet['index'][] = [
  'document_by_publication',
  'document_by_language',
  'document_by_region',
  'document_by_platform',
  'document_by_dataset',
]
const mostSelective = (ways: readonly LaneSet[]): LaneSet =>
  bySelectivity.flatMap((index) => ways.find((set) => set.index === index) ?? [])[0] ?? ways[0]!

/** The open document nearest to one end of the lanes. */
async function edgeOf(db: Kysely<Tables>, set: LaneSet, scope: Scope, end: End): Promise<string | null | 'unknown'> {
  let after = end.start
  let looked = 0
  const shareMax = Math.ceil(lookedMax / set.lanes.length)
  for (let share = sharesFirst; ; share = Math.min(shareMax, share * sharesFactor)) {
    const { found, horizon } = (await stepQuery(set, scope, end, after, share).execute(db)).rows[0]!
    // Every lane has been read up to the horizon.
    const isNear = horizon === null || (end === oldest ? found! <= horizon : found! >= horizon)
    if (found !== null && isNear) return found
    if (horizon === null) return null
    looked += share * set.lanes.length
    if (looked >= lookedMax) return 'unknown'
    after = horizon
  }
}

/**
 * Reads the next entries of each lane. `horizon` is the point up to which all lanes have been read: the nearest of the
 * last entries, among the lanes that used their whole share.
 */
function stepQuery(set: LaneSet, scope: Scope, { order, beyond, most }: End, after: string, share: number) {
  const { table } = listingIndexes[set.index]
  const next = (columns: RawBuilder<unknown>, offset: number, limit: number) =>
    sql`select ${columns} from ${sql.table(table)} as lane_key where ${inLane(set)} and lane_key.document_id ${beyond} ${after} order by lane_key.document_id ${order} limit ${sql.lit(limit)} offset ${sql.lit(offset)}`
  const tested = sql`lane_key.document_id, lane_key.dataset_id, lane_key.source_platform, lane_key.language, lane_key.region, lane_key.published_at`
  return sql<{
    found: string | null
    horizon: string | null
  }>`select ${most}(found) as found, ${most}(last) as horizon from (select (select ${most}(walked.document_id) from (${next(tested, 0, share)}) as walked where ${isDocumentOpen(scope, 'walked')}) as found, (${next(sql`lane_key.document_id`, share - 1, 1)}) as last from ${lanesOf(set)}) as edges`
}
