import type { Scope, ScopeEntry } from '../../access/scope.ts'
import { type CatalogColumn, entriesOpening } from '../../search/column-permissions.ts'
import type { CatalogConditions, SearchFilters } from '../../search/search-index.ts'
import { chunksPath, ofChunk } from './mapping.ts'

/** A query as OpenSearch takes it. */
export type Query = Readonly<Record<string, unknown>>

export const allOf = (...filter: readonly Query[]): Query => ({ bool: { filter } })
/** Of none nothing. */
export function oneOf(should: readonly Query[]): Query {
  if (should.length === 0) return { match_none: {} }
  return should.length === 1 ? should[0]! : { bool: { should, minimum_should_match: 1 } }
}
export const nested = (query: Query): Query => ({ nested: { path: chunksPath, query } })

/** Chunks of which the scope opens the same fields to searches. */
export interface VisibleClass {
  readonly title: boolean
  readonly body: boolean
  /** Of chunks. */
  readonly filter: Query
}

/** Worked out once for a search, of which each request asks for it. */
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
 * They have no chunk in common; together they are all that may be searched, of the documents of `ofDatasets`: who asks for
 * chunks asks for those of such documents.
 */
export const visibleClasses = onceOf((scope): readonly VisibleClass[] => {
  const entries = searchable(scope)
  const opens = (field: 'title' | 'body') => entries.filter(({ fields }) => fields.includes(field))
  const [titles, bodies] = [opens('title'), opens('body')]
  const both = titles.filter((entry) => bodies.includes(entry))
  const onlyTitles = titles.filter((entry) => !both.includes(entry))
  const onlyBodies = bodies.filter((entry) => !both.includes(entry))
  // Entries that open one field each may open both of a chunk together.
  const isMixed = onlyTitles.length > 0 && onlyBodies.length > 0
  const bothOpen = isMixed ? allOf(anyEntry(titles), anyEntry(bodies)) : chunksOf(both, entries)
  // Who may not search a body is not told how many chunks it has: its title is one.
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

/** Entries by which something may be searched. */
const searchable = ({ entries }: Scope): readonly ScopeEntry[] =>
  entries.filter(({ fields }) => fields.includes('title') || fields.includes('body'))

/**
 * Chunks of a class of entries. Where these are all, and go by datasets alone, that of the document has said it already: to
 * ask it of every chunk again, for each result once more, was a fifth to a third of the cluster's time.
 */
const chunksOf = (entries: readonly ScopeEntry[], all: readonly ScopeEntry[]): Query =>
  entries.length === all.length && entries.every(isByDataset) ? { match_all: {} } : anyEntry(entries)

const isByDataset = ({ datasets, fields, ...limits }: ScopeEntry): boolean =>
  Object.values(limits).every((limit) => limit === null)

/** Chunks that an entry matches, whatever it opens of them. */
export function anyEntry(entries: readonly ScopeEntry[]): Query {
  // Those that differ in their datasets alone are one: the cluster counts conditions.
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

/** Of chunks. */
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

/** All that a scope may search of the request's chunks. */
export const visibleChunks = (classes: readonly VisibleClass[], filters: readonly Query[]): Query =>
  allOf(oneOf(classes.map(({ filter }) => filter)), ...filters)

/** Documents of which the scope opens the current version: what the catalog knows of others is not told. */
const isOpened = (classes: readonly VisibleClass[]): Query => nested(visibleChunks(classes, [isCurrent]))

/** Current chunks of documents of which a column of the catalog may be read; `null`: of all that the request shows. */
export function columnOpened(column: CatalogColumn, scope: Scope, includeNonCurrent: boolean): Query | null {
  const opening = entriesOpening(column, scope)
  if (opening.length === scope.entries.length && !includeNonCurrent) return null
  return allOf(anyEntry(opening), isCurrent)
}

/** Of documents. */
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
  // A chunk of the current version that is found is open itself.
  return queries.length > 0 && includeNonCurrent ? [...queries, isOpened(classes)] : queries
}

/** Documents of the datasets that the scope opens to searches: what else there is need not be looked at. */
export const ofDatasets = onceOf((scope): Query => namedBy(searchable(scope)))

/** Documents of the datasets that the entries name. */
export const namedBy = (entries: readonly ScopeEntry[]): Query => ({
  terms: { dataset: [...new Set(entries.flatMap(({ datasets }) => datasets))] },
})
