import type { Scope, ScopeEntry } from '../../access/scope.ts'
import { type CatalogColumn, entriesOpening } from '../../search/column-permissions.ts'
import type { CatalogConditions, SearchFilters } from '../../search/search-index.ts'
import { chunksPath, ofChunk } from './mapping.ts'

/** A query of OpenSearch. */
export type Query = Readonly<Record<string, unknown>>

export const allOf = (...filter: readonly Query[]): Query => ({ bool: { filter } })
/** No queries match nothing. */
export function oneOf(should: readonly Query[]): Query {
  if (should.length === 0) return { match_none: {} }
  return should.length === 1 ? should[0]! : { bool: { should, minimum_should_match: 1 } }
}
export const nested = (query: Query): Query => ({ nested: { path: chunksPath, query } })

/** Chunks for which the scope opens the same fields to searches. */
export interface VisibleClass {
  readonly title: boolean
  readonly body: boolean
  /** A query for chunks. */
  readonly filter: Query
}

/** Caches a value for each scope: every request of a search uses it. */
function onceOf<T>(work: (scope: Scope) => T): (scope: Scope) => T {
  const known = new WeakMap<Scope, { readonly made: T }>()
  return (scope) => {
    let one = known.get(scope)
    if (one === undefined) {
      one = { made: work(scope) }
      known.set(scope, one)
    }
    return one.made
  }
}

/**
 * Disjoint classes; together they are all chunks that may be searched, in documents of `ofDatasets`: a caller combines
 * them with that.
 */
export const visibleClasses = onceOf((scope): readonly VisibleClass[] => {
  const entries = searchable(scope)
  const opens = (field: 'title' | 'body') => entries.filter(({ fields }) => fields.includes(field))
  const [titles, bodies] = [opens('title'), opens('body')]
  const both = titles.filter((entry) => bodies.includes(entry))
  const onlyTitles = titles.filter((entry) => !both.includes(entry))
  const onlyBodies = bodies.filter((entry) => !both.includes(entry))
  // Entries that open one field each may together open both fields of a chunk.
  const isMixed = onlyTitles.length > 0 && onlyBodies.length > 0
  const bothOpen = isMixed ? allOf(anyEntry(titles), anyEntry(bodies)) : chunksOf(both, entries)
  // A caller who may not search a body must not learn how many chunks it has: its title counts as one.
  const first = { term: { [ofChunk('first')]: true } }
  const lacking = (opened: readonly ScopeEntry[]) => (opened.length === 0 ? {} : { must_not: [anyEntry(opened)] })
  const classes: VisibleClass[] = []
  if (both.length > 0 || isMixed) classes.push({ title: true, body: true, filter: bothOpen })
  if (onlyTitles.length > 0) {
    const filter = { bool: { filter: [chunksOf(onlyTitles, entries), first], ...lacking(bodies) } }
    classes.push({ title: true, body: false, filter })
  }
  if (onlyBodies.length > 0) {
    const filter = { bool: { filter: [chunksOf(onlyBodies, entries)], ...lacking(titles) } }
    classes.push({ title: false, body: true, filter })
  }
  return classes
})

/** Entries that open something to searches. */
const searchable = ({ entries }: Scope): readonly ScopeEntry[] =>
  entries.filter(({ fields }) => fields.includes('title') || fields.includes('body'))

/**
 * Chunks of a class of entries. If these are all entries, and they limit only datasets, `ofDatasets` has checked this
 * for the document: checking every chunk again took a fifth to a third of the cluster's time.
 */
const chunksOf = (entries: readonly ScopeEntry[], all: readonly ScopeEntry[]): Query =>
  entries.length === all.length && entries.every(isByDataset) ? { match_all: {} } : anyEntry(entries)

const isByDataset = ({ datasets, fields, ...limits }: ScopeEntry): boolean =>
  Object.values(limits).every((limit) => limit === null)

/** Chunks that an entry matches, regardless of the fields that it opens. */
export function anyEntry(entries: readonly ScopeEntry[]): Query {
  // Entries that differ only in their datasets become one: the cluster limits the number of clauses.
  const joined = new Map<string, ScopeEntry>()
  for (const { datasets, fields, ...limits } of entries) {
    const key = JSON.stringify(limits)
    const before = joined.get(key)?.datasets ?? []
    joined.set(key, { ...limits, fields, datasets: [...new Set([...before, ...datasets])] })
  }
  return oneOf([...joined.values()].map(entryQuery))
}

function entryQuery(entry: ScopeEntry): Query {
  return allOf(
    { terms: { [ofChunk('dataset')]: entry.datasets } },
    ...valuesIn('platform', entry.platforms),
    ...valuesIn('language', entry.languages),
    ...valuesIn('region', entry.regions),
    ...published(entry.publishedFrom, entry.publishedTo),
  )
}

/** Queries for chunks. */
export function filterQueries(filters: SearchFilters): Query[] {
  return [
    ...(filters.includeNonCurrent ? [] : [isCurrent]),
    ...valuesIn('dataset', filters.datasets),
    ...valuesIn('platform', filters.platforms),
    ...valuesIn('language', filters.languages),
    ...valuesIn('region', filters.regions),
    ...valuesIn('content_type', filters.contentTypes),
    ...valuesIn('status', filters.statuses),
    ...published(filters.publishedFrom, filters.publishedTo),
  ]
}

export const isCurrent: Query = { term: { [ofChunk('current')]: true } }

const valuesIn = (name: string, values: readonly string[] | null): Query[] =>
  values === null ? [] : [{ terms: { [ofChunk(name)]: values } }]

function published(from: number | null, to: number | null): Query[] {
  if (from === null && to === null) return []
  const range = { ...(from === null ? {} : { gte: from }), ...(to === null ? {} : { lt: to }) }
  return [{ range: { [ofChunk('published_at')]: range } }]
}

/** All chunks that a scope may search and that pass the filters of the request. */
export const visibleChunks = (classes: readonly VisibleClass[], filters: readonly Query[]): Query =>
  allOf(oneOf(classes.map(({ filter }) => filter)), ...filters)

/** Documents whose current version the scope opens: catalog columns of others must not be revealed. */
const isOpened = (classes: readonly VisibleClass[]): Query => nested(visibleChunks(classes, [isCurrent]))

/**
 * Current chunks of documents for which the scope opens a catalog column. `null` means all documents that the request
 * shows.
 */
export function columnOpened(column: CatalogColumn, scope: Scope, includeNonCurrent: boolean): Query | null {
  const opening = entriesOpening(column, scope)
  if (opening.length === scope.entries.length && !includeNonCurrent) return null
  return allOf(anyEntry(opening), isCurrent)
}

/** Queries for documents. */
export function conditionQueries(
  conditions: CatalogConditions | undefined,
  classes: readonly VisibleClass[],
  includeNonCurrent: boolean,
): Query[] {
  if (conditions === undefined) return []
  const { authorId, topics, tags, classifications, scoreMin, scoreMax } = conditions
  const lists = { author: authorId === null ? null : [authorId], topics, tags, classifications }
  const queries: Query[] = Object.entries(lists).flatMap(([name, values]) =>
    values === null ? [] : [{ terms: { [name]: values } }],
  )
  if (scoreMin !== null || scoreMax !== null) {
    const range = { ...(scoreMin === null ? {} : { gte: scoreMin }), ...(scoreMax === null ? {} : { lte: scoreMax }) }
    queries.push({ range: { score: range } })
  }
  // A current chunk that is found is open itself.
  return queries.length > 0 && includeNonCurrent ? [...queries, isOpened(classes)] : queries
}

/** Documents of the datasets that the scope opens to searches: no other document needs a check. */
export const ofDatasets = onceOf((scope): Query => namedBy(searchable(scope)))

/** Documents of the datasets that the entries name. */
export const namedBy = (entries: readonly ScopeEntry[]): Query => ({
  terms: { dataset: [...new Set(entries.flatMap(({ datasets }) => datasets))] },
})
