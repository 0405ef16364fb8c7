import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { ScopeEntry } from '../../access/scope.ts'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import { firstIdAt } from '../../ids.ts'
import { termKinds } from './document-state.ts'
import type { DocumentRow, Tables } from './tables.ts'

/**
 * How a listing finds its page without looking at more than it must. Every index ends in `document_id`, whose order is
 * the order of the listing, so a range of an index is already sorted and a cursor is just a smaller upper bound.
 *
 * 1. Each condition that has an index is a *driver*: a set of *lanes*, a lane being one run of one index (one tag in one
 *    dataset, one author, one platform in one dataset, …).
 * 2. A driver with few documents left in the window (`fewMax`, found by looking at no more than that) decides alone: its
 *    documents are fetched and the other conditions checked on them. A rare tag therefore costs what it has.
 * 3. Otherwise every condition is common, and the lanes of the first driver are walked from the newest down, each until
 *    it has a page; the other conditions are checked on the way. The lanes' pages are merged.
 *
 * Score and publication are ranges: their indexes are not in the order of the listing, so they serve under 2 only.
 */
export async function browseIds(db: Kysely<Tables>, query: BrowseQuery): Promise<string[]> {
  if (query.exact !== null) return exactIds(db, query, query.exact)
  const drivers = driversOf(query)
  for (const driver of drivers) {
    const few = await fewIds(db, driver, query)
    if (few !== null) return checkedIds(db, few, query)
  }
  const walked = drivers.find((driver) => driver.ordered && driver.lanes.length <= lanesMax)
  const lanes = walked?.lanes ?? [everything]
  const found = new Set<string>()
  for (const lane of lanes) {
    const rows = await walk(db, lane, query).execute()
    for (const { document_id } of rows) found.add(document_id)
  }
  return newestFirst([...found]).slice(0, query.limit)
}

const fewMax = 400
const lanesMax = 64

/** One run of one index: equal values, then `document_id`. */
type Lane =
  | { readonly of: 'term'; readonly kind: number; readonly value: string; readonly datasetId: string }
  | { readonly of: 'document'; readonly equal: Partial<Record<keyof DocumentRow, string>> }

const everything: Lane = { of: 'document', equal: {} }

interface Driver {
  readonly lanes: readonly Lane[]
  /** Whether its lanes are in the order of the listing. */
  readonly ordered: boolean
  readonly range?: {
    readonly column: 'score' | 'published_at'
    readonly from: number | null
    readonly below: number | null
  }
}

function driversOf(query: BrowseQuery): Driver[] {
  const drivers: Driver[] = []
  const datasets = [...new Set(query.scope.entries.flatMap((entry) => entry.datasets))]
  const byDataset = (make: (datasetId: string) => Lane[]): void => {
    drivers.push({ lanes: datasets.flatMap(make), ordered: true })
  }
  if (query.externalAuthorId !== null) {
    const platforms = [...new Set(query.scope.entries.flatMap((entry) => entry.platforms ?? []))]
    const external_author_id = query.externalAuthorId
    drivers.push({
      lanes: platforms.map((source_platform) => ({ of: 'document', equal: { source_platform, external_author_id } })),
      ordered: true,
    })
  }
  for (const [kind, values] of termConditions(query)) {
    byDataset((datasetId) => values.map((value) => ({ of: 'term', kind, value, datasetId })))
  }
  if (query.contentTypes !== null) {
    const types = query.contentTypes
    byDataset((dataset_id) => types.map((content_type) => ({ of: 'document', equal: { dataset_id, content_type } })))
  }
  if (query.status !== null) {
    const { status } = query
    byDataset((dataset_id) => [{ of: 'document', equal: { dataset_id, status } }])
  }
  const scopeLanes = new Map<string, Lane>()
  for (const entry of query.scope.entries) {
    for (const lane of entryLanes(entry)) scopeLanes.set(JSON.stringify(lane), lane)
  }
  drivers.push({ lanes: [...scopeLanes.values()], ordered: true })
  const range = (column: 'score' | 'published_at', from: number | null, below: number | null): void => {
    if (from === null && below === null) return
    const lanes = datasets.map((dataset_id): Lane => ({ of: 'document', equal: { dataset_id } }))
    drivers.push({ lanes, ordered: false, range: { column, from, below } })
  }
  range('score', query.scoreMin, query.scoreMax === null ? null : query.scoreMax + 1)
  range('published_at', query.publishedFrom, query.publishedTo)
  return drivers
}

/** The most telling index an entitlement entry can use. */
function entryLanes(entry: ScopeEntry): Lane[] {
  return entry.datasets.flatMap((dataset_id): Lane[] => {
    if (entry.platforms !== null) {
      return entry.platforms.map((source_platform) => ({ of: 'document', equal: { dataset_id, source_platform } }))
    }
    if (entry.languages !== null) {
      return entry.languages.map((language) => ({ of: 'document', equal: { dataset_id, language } }))
    }
    return [{ of: 'document', equal: { dataset_id } }]
  })
}

function termConditions(query: BrowseQuery): [kind: number, values: readonly string[]][] {
  const conditions: [number, readonly string[]][] = []
  if (query.classifications !== null) conditions.push([termKinds.classification, query.classifications])
  if (query.tags !== null) conditions.push([termKinds.tag, query.tags])
  if (query.topics !== null) conditions.push([termKinds.topic, query.topics])
  return conditions
}

/** Every id of a driver in what is left of the window, if there are few; null as soon as there are more. */
async function fewIds(db: Kysely<Tables>, driver: Driver, query: BrowseQuery): Promise<string[] | null> {
  if (driver.lanes.length > lanesMax) return null
  const ids = new Set<string>()
  for (const lane of driver.lanes) {
    for (const { document_id } of await probe(db, lane, driver, query).execute()) ids.add(document_id)
    if (ids.size > fewMax) return null
  }
  return newestFirst([...ids])
}

/** Looks at one more than `fewMax` entries of one lane at the most. A range is counted whole, whatever the window. */
export function probe(db: Kysely<Tables>, lane: Lane, driver: Driver, query: BrowseQuery) {
  if (driver.range !== undefined) {
    const { column, from, below } = driver.range
    let ranged = laneOf(db, lane).select('document_id')
    if (from !== null) ranged = ranged.where(column as 'document_id', '>=', from as never)
    if (below !== null) ranged = ranged.where(column as 'document_id', '<', below as never)
    return ranged.limit(fewMax + 1)
  }
  return windowed(laneOf(db, lane), query)
    .select('document_id')
    .limit(fewMax + 1)
}

/** Of the given ids, newest first, those that meet every condition: a page of them. */
async function checkedIds(db: Kysely<Tables>, ids: readonly string[], query: BrowseQuery): Promise<string[]> {
  const found: string[] = []
  for (let from = 0; from < ids.length && found.length < query.limit; from += query.limit) {
    const rows = await windowed(
      db.selectFrom('document').where('document_id', 'in', ids.slice(from, from + query.limit)),
      query,
    )
      .select('document_id')
      .where((eb) => conditions(eb, query))
      .execute()
    found.push(...newestFirst(rows.map((row) => row.document_id)))
  }
  return found.slice(0, query.limit)
}

/** One lane from the newest down, with every condition, until a page is full. */
export function walk(db: Kysely<Tables>, lane: Lane, query: BrowseQuery) {
  if (lane.of === 'term') {
    return windowed(termLane(db, lane), query)
      .select('document_id')
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('document')
            .select('document.status')
            .whereRef('document.document_id', '=', 'document_term.document_id')
            .where((inner) => conditions(inner as unknown as ExpressionBuilder<Tables, 'document'>, query, lane.kind)),
        ),
      )
      .orderBy('document_id', 'desc')
      .limit(query.limit)
  }
  return windowed(laneOf(db, lane), query)
    .select('document_id')
    .where((eb) => conditions(eb as unknown as ExpressionBuilder<Tables, 'document'>, query))
    .orderBy('document_id', 'desc')
    .limit(query.limit)
}

function termLane(db: Kysely<Tables>, lane: Extract<Lane, { of: 'term' }>) {
  return db
    .selectFrom('document_term')
    .where('kind', '=', lane.kind)
    .where('value', '=', lane.value)
    .where('dataset_id', '=', lane.datasetId)
}

/** Both tables have `document_id`, which is all that listings ask of a lane. */
function laneOf(db: Kysely<Tables>, lane: Lane) {
  if (lane.of === 'term') return termLane(db, lane) as unknown as ReturnType<typeof documentLane>
  return documentLane(db, lane)
}

function documentLane(db: Kysely<Tables>, lane: Extract<Lane, { of: 'document' }>) {
  let select = db.selectFrom('document')
  for (const [column, value] of Object.entries(lane.equal)) {
    select = select.where(column as 'document_id', '=', value)
  }
  return select
}

/** The first-ingest window and the cursor, as bounds of the id. */
function windowed<Query>(select: Query, query: BrowseQuery): Query {
  type Bounded = { where(column: 'document_id', operator: '>=' | '<', value: string): Bounded }
  let bounded = select as unknown as Bounded
  if (query.createdFrom !== null) bounded = bounded.where('document_id', '>=', firstIdAt('doc', query.createdFrom))
  const ends = [query.before, query.createdTo === null ? null : firstIdAt('doc', query.createdTo)].filter(
    (id) => id !== null,
  )
  if (ends.length > 0) bounded = bounded.where('document_id', '<', ends.sort()[0]!)
  return bounded as unknown as Query
}

/** Everything a document must meet, but for the window. `driving` is the term kind a lane already settles for one value. */
function conditions(
  eb: ExpressionBuilder<Tables, 'document'>,
  query: BrowseQuery,
  driving?: number,
): Expression<SqlBool> {
  const all: Expression<SqlBool>[] = [eb.or(query.scope.entries.map((entry) => entryCondition(eb, entry)))]
  if (query.externalAuthorId !== null) all.push(eb('document.external_author_id', '=', query.externalAuthorId))
  if (query.contentTypes !== null) all.push(eb('document.content_type', 'in', query.contentTypes))
  if (query.status !== null) all.push(eb('document.status', '=', query.status))
  if (query.scoreMin !== null) all.push(eb('document.score', '>=', query.scoreMin))
  if (query.scoreMax !== null) all.push(eb('document.score', '<=', query.scoreMax))
  if (query.publishedFrom !== null) all.push(eb('document.published_at', '>=', query.publishedFrom))
  if (query.publishedTo !== null) all.push(eb('document.published_at', '<', query.publishedTo))
  for (const [kind, values] of termConditions(query)) {
    if (kind === driving) continue
    all.push(
      eb.exists(
        eb
          .selectFrom('document_term as other')
          .select('other.kind')
          .where('other.kind', '=', kind)
          .where('other.value', 'in', values)
          .whereRef('other.dataset_id', '=', 'document.dataset_id')
          .whereRef('other.document_id', '=', 'document.document_id'),
      ),
    )
  }
  return eb.and(all)
}

function entryCondition(eb: ExpressionBuilder<Tables, 'document'>, entry: ScopeEntry): Expression<SqlBool> {
  const all: Expression<SqlBool>[] = [eb('document.dataset_id', 'in', entry.datasets)]
  if (entry.platforms !== null) all.push(eb('document.source_platform', 'in', entry.platforms))
  if (entry.languages !== null) all.push(eb('document.language', 'in', entry.languages))
  if (entry.regions !== null) all.push(eb('document.region', 'in', entry.regions))
  if (entry.publishedFrom !== null) all.push(eb('document.published_at', '>=', entry.publishedFrom))
  if (entry.publishedTo !== null) all.push(eb('document.published_at', '<', entry.publishedTo))
  return eb.and(all)
}

/** By id, by URL and by the platform's own id: each through its index, then the other conditions. */
async function exactIds(
  db: Kysely<Tables>,
  query: BrowseQuery,
  exact: NonNullable<BrowseQuery['exact']>,
): Promise<string[]> {
  const select = () => db.selectFrom('document').select('document_id')
  const lookups = [select().where('document_id', '=', exact.text), select().where('url', '=', exact.text)]
  if (exact.platforms !== null) {
    lookups.push(select().where('source_platform', 'in', exact.platforms).where('external_id', '=', exact.text))
  }
  const ids = new Set<string>()
  for (const lookup of lookups) {
    for (const { document_id } of await windowed(lookup, query)
      .orderBy('document_id', 'desc')
      .limit(fewMax)
      .execute()) {
      ids.add(document_id)
    }
  }
  return checkedIds(db, newestFirst([...ids]), query)
}

const newestFirst = (ids: string[]): string[] => ids.sort((a, b) => (a < b ? 1 : -1))
