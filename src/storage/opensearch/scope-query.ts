import type { Scope, ScopeEntry } from '../../access/scope.ts'
import type { Conditions, NumberRange } from '../../document/field-types.ts'
import { conditionOf, filterRows } from '../../document/rows.ts'
import { entriesOpening, type GuardedColumn } from '../../search/column-permissions.ts'
import type { SearchFilters } from '../../search/search-index.ts'
import { chunkField, chunksPath, indexField } from './mapping.ts'

/** A query of OpenSearch. */
export type Query = Readonly<Record<string, unknown>>

export const allOf = (...filter: readonly Query[]): Query => ({ bool: { filter } })
/** An empty list matches nothing. */
export function oneOf(should: readonly Query[]): Query {
  if (should.length === 0) return { match_none: {} }
  return should.length === 1 ? should[0]! : { bool: { should, minimum_should_match: 1 } }
}
export const nested = (query: Query): Query => ({ nested: { path: chunksPath, query } })

/** The chunks of which a scope opens the same fields. */
export interface VisibleClass {
  readonly title: boolean
  readonly body: boolean
  /** A query for chunks. */
  readonly filter: Query
}

/** Caches a value for each scope, because several requests of a search need it. */
function memoised<T>(work: (scope: Scope) => T): (scope: Scope) => T {
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
 * Disjoint classes that together contain all chunks that may be searched. Callers must also restrict documents by
 * `inScopeDatasets`.
 */
export const visibleClasses = memoised((scope): readonly VisibleClass[] => {
  const entries = searchable(scope)
  const opens = (field: 'title' | 'body') => entries.filter(({ fields }) => fields.includes(field))
  const [titles, bodies] = [opens('title'), opens('body')]
  const both = titles.filter((entry) => bodies.includes(entry))
  const onlyTitles = titles.filter((entry) => !both.includes(entry))
  const onlyBodies = bodies.filter((entry) => !both.includes(entry))
  // Entries that open one field each may together open both fields of a chunk.
  const isMixed = onlyTitles.length > 0 && onlyBodies.length > 0
  const bothOpen = isMixed ? allOf(anyEntry(titles), anyEntry(bodies)) : chunksOf(both, entries)
  // A caller who may not search a body must not learn how many chunks it has, so its title counts as one chunk.
  const first = { term: { [chunkField('first')]: true } }
  const except = (opened: readonly ScopeEntry[]) => (opened.length === 0 ? {} : { must_not: [anyEntry(opened)] })
  const classes: VisibleClass[] = []
  if (both.length > 0 || isMixed) classes.push({ title: true, body: true, filter: bothOpen })
  if (onlyTitles.length > 0) {
    const filter = { bool: { filter: [chunksOf(onlyTitles, entries), first], ...except(bodies) } }
    classes.push({ title: true, body: false, filter })
  }
  if (onlyBodies.length > 0) {
    const filter = { bool: { filter: [chunksOf(onlyBodies, entries)], ...except(titles) } }
    classes.push({ title: false, body: true, filter })
  }
  return classes
})

/** Entries that open a title or body. */
const searchable = ({ entries }: Scope): readonly ScopeEntry[] =>
  entries.filter(({ fields }) => fields.includes('title') || fields.includes('body'))

/**
 * Chunks that entries open. If these are all entries of the scope, and they restrict only datasets, `inScopeDatasets`
 * has already checked the document, and checking every chunk again would be slow.
 */
const chunksOf = (entries: readonly ScopeEntry[], all: readonly ScopeEntry[]): Query =>
  entries.length === all.length && entries.every(isByDataset) ? { match_all: {} } : anyEntry(entries)

const isByDataset = ({ datasets, fields, ...limits }: ScopeEntry): boolean =>
  Object.values(limits).every((limit) => limit === null)

/** Chunks that an entry matches, regardless of the fields that it opens. */
export function anyEntry(entries: readonly ScopeEntry[]): Query {
  // Entries that differ only in their datasets are joined, because the cluster limits the number of clauses.
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
    { terms: { [chunkField('dataset')]: entry.datasets } },
    ...valuesIn('platform', entry.platforms),
    ...valuesIn('language', entry.languages),
    ...valuesIn('region', entry.regions),
    ...published(entry.publishedFrom, entry.publishedTo),
  )
}

/** The filters as queries for chunks. */
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

export const isCurrent: Query = { term: { [chunkField('current')]: true } }

const valuesIn = (name: string, values: readonly string[] | null): Query[] =>
  values === null ? [] : [{ terms: { [chunkField(name)]: values } }]

function published(from: number | null, to: number | null): Query[] {
  if (from === null && to === null) return []
  const range = { ...(from === null ? {} : { gte: from }), ...(to === null ? {} : { lt: to }) }
  return [{ range: { [chunkField('published_at')]: range } }]
}

/** All chunks of these classes that pass the filters. */
export const visibleChunks = (classes: readonly VisibleClass[], filters: readonly Query[]): Query =>
  allOf(oneOf(classes.map(({ filter }) => filter)), ...filters)

/** Documents whose current version the scope opens. Catalog columns of other documents must not be revealed. */
const isCurrentOpen = (classes: readonly VisibleClass[]): Query => nested(visibleChunks(classes, [isCurrent]))

/**
 * Current chunks of documents for which the scope opens a catalog column. `null` if it does for all documents that the
 * request finds.
 */
export function columnOpened(column: GuardedColumn, scope: Scope, includeNonCurrent: boolean): Query | null {
  const opening = entriesOpening(column, scope)
  if (opening.length === scope.entries.length && !includeNonCurrent) return null
  return allOf(anyEntry(opening), isCurrent)
}

/** The conditions as queries for documents. */
export function conditionQueries(
  conditions: Conditions | undefined,
  classes: readonly VisibleClass[],
  includeNonCurrent: boolean,
): Query[] {
  if (conditions === undefined) return []
  const queries = filterRows.flatMap((row): Query[] => {
    const condition = conditionOf(conditions, row)
    if (condition === undefined) return []
    const field = indexField(row)
    if ('min' in condition) return [{ range: { [field]: rangeOf(condition) } }]
    return [{ terms: { [field]: condition } }]
  })
  // If only current versions are searched, the version that is found is the current one and is open.
  return queries.length > 0 && includeNonCurrent ? [...queries, isCurrentOpen(classes)] : queries
}

const rangeOf = ({ min, max }: NumberRange) => ({
  ...(min === null ? {} : { gte: min }),
  ...(max === null ? {} : { lte: max }),
})

/** Documents in the datasets that the scope may search. It excludes all others before their chunks are checked. */
export const inScopeDatasets = memoised((scope): Query => inDatasetsOf(searchable(scope)))

/** Documents in the datasets of the entries. */
export const inDatasetsOf = (entries: readonly ScopeEntry[]): Query => ({
  terms: { dataset: [...new Set(entries.flatMap(({ datasets }) => datasets))] },
})
