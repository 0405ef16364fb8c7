import type { ScopeEntry } from '../../access/scope.ts'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import { termConditions } from './browse-conditions.ts'
import { dayExpression, dayOf, scoreBucketExpression, scoreBucketLast, scoreBucketOf } from './buckets.ts'

/**
 * Finds the index ranges that contain the documents of each condition.
 *
 * A *lane* is a range of an index with equal values of the leading columns. Its entries are in the order of
 * `document_id`, which is the order of the listing. A *driver* represents one condition: its parts together contain
 * every document that meets the condition. Often several indexes can read a part: for example, an entitlement can be
 * read by platform or by language. A `LaneSet` is one of these alternatives: the lanes of one index.
 */
const column = (name: string) => (alias: string) => `${alias}.${name}`
const dataset = column('dataset_id')
const platform = column('source_platform')

/** The leading columns of each index that listings scan, as SQL for a table alias. */
export const listingIndexes = {
  document_term_pk: { table: 'document_term', leading: [column('kind'), column('value'), dataset] },
  document_by_author: { table: 'document', leading: [platform, column('external_author_id')] },
  document_by_content_type: { table: 'document', leading: [dataset, column('content_type')] },
  document_by_status: { table: 'document', leading: [dataset, column('status')] },
  document_by_score: { table: 'document', leading: [dataset, (alias) => scoreBucketExpression(`${alias}.score`)] },
  document_by_publication: { table: 'document', leading: [dataset, (alias) => dayExpression(`${alias}.published_at`)] },
  document_by_platform: { table: 'document', leading: [dataset, platform] },
  document_by_language: { table: 'document', leading: [dataset, column('language')] },
  document_by_region: { table: 'document', leading: [dataset, column('region')] },
  document_by_dataset: { table: 'document', leading: [dataset] },
  document_by_identity: { table: 'document', leading: [dataset, platform, column('external_id')] },
  document_by_url: { table: 'document', leading: [column('url')] },
  /** The primary key, for one document and for all documents. */
  document_pk: { table: 'document', leading: [column('document_id')] },
  document_pk_whole: { table: 'document', leading: [] },
} as const satisfies Record<
  string,
  { table: 'document' | 'document_term'; leading: readonly ((alias: string) => string)[] }
>

export interface LaneSet {
  readonly index: keyof typeof listingIndexes
  /** The values of the index's leading columns. Numbers are integers and never come from a request. */
  readonly lanes: readonly (readonly (string | number)[])[]
}

export interface Driver {
  /** For each part, the alternative ways to read it. */
  readonly parts: readonly (readonly LaneSet[])[]
  /** The kind of term that every document of its lanes has as requested; null for none. */
  readonly guarantees: number | null
}

/** With more lanes than this, a condition is not used as a driver, because scanning them costs more than it saves. */
const lanesMax = 2000
/** The same limit for the buckets of a range. A range with more buckets excludes too few documents. */
const bucketLanesMax = 400

/**
 * With more lanes of terms than this, a query first finds the lanes that exist, because most values occur in few
 * datasets.
 */
const uncheckedLanesMax = 200

/** Look-ups that determine which lanes exist. */
export interface LaneLookup {
  /** The first and last publication day in some datasets; null if there is none. */
  publishedDays(datasets: readonly string[]): Promise<{ first: number; last: number } | null>
  /** The datasets in which each value of a kind of term occurs. */
  datasetsOf(kind: number, values: readonly string[]): Promise<readonly { value: string; dataset: string }[]>
}

/** The drivers of a query, in the expected order of selectivity, most selective first. */
export async function driversOf(query: BrowseQuery, look: LaneLookup): Promise<Driver[]> {
  if (query.exact !== null) return [exactDriver(query, query.exact)]
  const { entries } = query.scope
  const datasets = distinct(entries.flatMap((entry) => entry.datasets))
  const drivers: Driver[] = []
  const add = (set: LaneSet | null, most: number, guarantees: number | null = null): void => {
    if (set !== null && set.lanes.length <= most) drivers.push({ parts: [[set]], guarantees })
  }
  const { externalAuthorId: authors, score } = query.conditions
  if (authors !== undefined) {
    const platforms = distinct(entries.flatMap((entry) => entry.platforms ?? []))
    const lanes = platforms.flatMap((platform) => authors.map((author) => [platform, author]))
    add({ index: 'document_by_author', lanes }, lanesMax)
  }
  for (const { row, values } of termConditions(query)) {
    const kind = row.filter.term!
    add({ index: 'document_term_pk', lanes: await termLanes(datasets, kind, values, look) }, lanesMax, kind)
  }
  if (score !== undefined) add(scoreLanes(datasets, score.min, score.max), bucketLanesMax)
  if (query.publishedFrom !== null || query.publishedTo !== null) {
    add(await dayLanes(datasets, query.publishedFrom, query.publishedTo, look), bucketLanesMax)
  }
  if (query.contentTypes !== null) {
    add({ index: 'document_by_content_type', lanes: pairs(datasets, query.contentTypes) }, lanesMax)
  }
  if (query.status !== null) add({ index: 'document_by_status', lanes: pairs(datasets, [query.status]) }, lanesMax)
  drivers.push(await scopeDriver(entries, look))
  return drivers
}

/** Finds a document by its id, by its URL and, if platforms are named, by its id on the platform. */
function exactDriver(query: BrowseQuery, { text, platforms }: NonNullable<BrowseQuery['exact']>): Driver {
  const parts: LaneSet[][] = [
    [{ index: 'document_pk', lanes: [[text]] }],
    [{ index: 'document_by_url', lanes: [[text]] }],
  ]
  if (platforms !== null) {
    const datasets = distinct(query.scope.entries.flatMap((entry) => entry.datasets))
    const lanes = pairs(datasets, platforms).map((pair) => [...pair, text])
    parts.push([{ index: 'document_by_identity', lanes }])
  }
  return { parts, guarantees: null }
}

/** Entries that restrict the same dimensions share a part, so that many entries do not need many statements. */
export async function scopeDriver(entries: readonly ScopeEntry[], look: LaneLookup): Promise<Driver> {
  const groups = Map.groupBy(entries, (entry) =>
    [entry.platforms, entry.languages, entry.regions, entry.publishedFrom ?? entry.publishedTo]
      .map((limit) => (limit === null ? '-' : '+'))
      .join(''),
  )
  const parts: LaneSet[][] = []
  for (const group of groups.values()) {
    const alternatives: LaneSet[] = []
    const add = (index: LaneSet['index'], lanes: LaneSet['lanes'], most = lanesMax): void => {
      const unique = [...new Map(lanes.map((lane) => [lane.join('\u0000'), lane])).values()]
      if (unique.length <= most) alternatives.push({ index, lanes: unique })
    }
    const by = (index: LaneSet['index'], values: (entry: ScopeEntry) => readonly string[] | null): void => {
      if (values(group[0]!) === null) return
      add(
        index,
        group.flatMap((entry) => pairs(entry.datasets, values(entry) ?? [])),
      )
    }
    by('document_by_platform', (entry) => entry.platforms)
    by('document_by_language', (entry) => entry.languages)
    by('document_by_region', (entry) => entry.regions)
    if (group[0]!.publishedFrom !== null || group[0]!.publishedTo !== null) {
      const sets = await Promise.all(
        group.map((entry) => dayLanes(entry.datasets, entry.publishedFrom, entry.publishedTo, look)),
      )
      if (sets.every((set) => set !== null)) {
        add(
          'document_by_publication',
          sets.flatMap((set) => set.lanes),
          bucketLanesMax,
        )
      }
    }
    if (alternatives.length === 0) {
      add(
        'document_by_dataset',
        group.flatMap((entry) => entry.datasets.map((dataset) => [dataset])),
      )
    }
    if (alternatives.length === 0) alternatives.push({ index: 'document_pk_whole', lanes: [[]] })
    parts.push(alternatives)
  }
  return { parts, guarantees: null }
}

async function termLanes(
  datasets: readonly string[],
  kind: number,
  values: readonly string[],
  look: LaneLookup,
): Promise<[number, string, string][]> {
  if (datasets.length * values.length <= uncheckedLanesMax) {
    return datasets.flatMap((dataset) => values.map((value): [number, string, string] => [kind, value, dataset]))
  }
  const entitled = new Set(datasets)
  const found = await look.datasetsOf(kind, values)
  return found.filter(({ dataset }) => entitled.has(dataset)).map(({ value, dataset }) => [kind, value, dataset])
}

function scoreLanes(datasets: readonly string[], least: number | null, most: number | null): LaneSet {
  const first = least === null ? 0 : scoreBucketOf(least)
  const last = most === null ? scoreBucketLast : scoreBucketOf(most)
  return { index: 'document_by_score', lanes: pairs(datasets, numbers(first, last)) }
}

/** Null if the range has too many days to list. */
async function dayLanes(
  datasets: readonly string[],
  from: number | null,
  below: number | null,
  look: LaneLookup,
): Promise<LaneSet | null> {
  const known = from === null || below === null ? await look.publishedDays(datasets) : null
  const first = from === null ? (known?.first ?? 0) : dayOf(from)
  const last = below === null ? (known?.last ?? first - 1) : dayOf(below - 1)
  if ((last - first + 1) * datasets.length > bucketLanesMax) return null
  return { index: 'document_by_publication', lanes: pairs(datasets, numbers(first, last)) }
}

const numbers = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
const pairs = <T>(datasets: readonly string[], values: readonly T[]): [string, T][] =>
  datasets.flatMap((dataset) => values.map((value): [string, T] => [dataset, value]))
const distinct = (values: readonly string[]): string[] => [...new Set(values)]
