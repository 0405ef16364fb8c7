import type { Scope } from '../../access/scope.ts'
import { packStatistics, unpackStatistics } from '../../search/keyword-statistics.ts'
import { idfOf, type LengthNorm, lengthNorm } from '../../text/bm25.ts'
import type { Clause, KeywordQuery, TermExpansion, TermGroup } from '../../text/types.ts'
import { encodedPrefixes, encodeTerm } from './encode-terms.ts'
import { chunkField, chunksPath } from './mapping.ts'
import { allOf, inScopeDatasets, isCurrent, oneOf, type Query, type VisibleClass } from './scope-query.ts'

/**
 * The BM25 statistics of a scope: the number and length of the chunks of current versions that it may search, and how
 * many of them contain each term and prefix of a query.
 */
export class ScopeStatistics {
  readonly #chunks: number
  readonly #totalLength: number
  readonly norm: LengthNorm
  readonly #counts: ReadonlyMap<string, number>

  constructor(chunks: number, totalLength: number, counts: ReadonlyMap<string, number>) {
    this.#chunks = chunks
    this.#totalLength = totalLength
    this.norm = lengthNorm(chunks, totalLength)
    this.#counts = counts
  }

  /** Reads the result of `packed`. Returns `null` if it belongs to another query. */
  static unpack(packed: readonly number[] | undefined, query: KeywordQuery): ScopeStatistics | null {
    const keys = [...countedOf(query).keys()]
    const counted = unpackStatistics(packed, keys)
    if (counted === null) return null
    const { chunks, totalLength, counts } = counted
    return new ScopeStatistics(chunks, totalLength, new Map(keys.map((key, i) => [key, counts[i]!])))
  }

  /** The statistics as numbers, for the cursor of the next page. */
  packed(query: KeywordQuery): readonly number[] | undefined {
    const keys = [...countedOf(query).keys()]
    const counts = keys.map((key) => this.#counts.get(key) ?? 0)
    return packStatistics(keys, { chunks: this.#chunks, totalLength: this.#totalLength, counts })
  }

  idfOfTerm(term: string): number {
    return this.#idf(this.#counts.get(termKey(term)) ?? 0)
  }

  occurs(term: string): boolean {
    return (this.#counts.get(termKey(term)) ?? 0) > 0
  }

  idfOfPrefix(prefix: string): number {
    return this.#idf(this.#counts.get(prefixKey(prefix)) ?? 0)
  }

  /** The idf of the most frequent term of the group. */
  idfOfGroup(group: TermGroup): number {
    return Math.min(...group.map((term) => this.idfOfTerm(term)))
  }

  #idf(count: number): number {
    return idfOf(this.#chunks, count)
  }
}

const termKey = (term: string): string => `t${term}`
const prefixKey = (prefix: string): string => `b${prefix}`

export const groupsOf = (clause: Clause): readonly TermGroup[] =>
  clause.type === 'word' ? [clause.group] : clause.groups
export const expansionsOf = (clause: Clause): readonly TermExpansion[] =>
  clause.type === 'word' ? (clause.expansions ?? []) : []

/** Everything in a query that must be counted, by key, as functions that return the query for a field. */
function countedOf(query: KeywordQuery): Map<string, (field: string) => Query> {
  const counted = new Map<string, (field: string) => Query>()
  for (const clause of [...query.clauses, ...query.boosts]) {
    for (const term of groupsOf(clause).flat()) counted.set(termKey(term), termQuery(term))
    for (const match of expansionsOf(clause)) {
      if ('terms' in match) for (const term of match.terms) counted.set(termKey(term), termQuery(term))
      else counted.set(prefixKey(match.prefix), prefixQuery(match.prefix))
    }
  }
  return counted
}

export const termQuery =
  (term: string) =>
  (field: string): Query => {
    const encoded = encodeTerm(term)
    return encoded === null ? { match_none: {} } : { term: { [chunkField(field)]: encoded } }
  }

export const prefixQuery =
  (prefix: string) =>
  (field: string): Query =>
    oneOf(encodedPrefixes(prefix).map((one) => ({ prefix: { [chunkField(field)]: one } })))

/** Applies a query to the fields of the class that may be searched. */
export const inFields = ({ title, body }: VisibleClass, queryFor: (field: string) => Query): Query =>
  oneOf([...(title ? [queryFor('title')] : []), ...(body ? [queryFor('body')] : [])])

interface CountedClass {
  readonly doc_count: number
  readonly title: { readonly value: number }
  readonly body: { readonly value: number }
  readonly found?: { readonly buckets: readonly { readonly doc_count: number }[] }
}
export interface StatisticsAnswer {
  readonly aggregations: { readonly chunks: Readonly<Record<string, CountedClass>> }
}

/** A request without hits. Every shard caches its response until the shard changes. */
export function statisticsRequest(scope: Scope, classes: readonly VisibleClass[], query: KeywordQuery): object {
  const counted = [...countedOf(query).values()]
  const aggs = classes.map((one, i) => [
    `class${i}`,
    {
      filter: allOf(one.filter, isCurrent),
      aggs: {
        title: { sum: { field: chunkField('title_length') } },
        body: { sum: { field: chunkField('body_length') } },
        ...(counted.length === 0
          ? {}
          : { found: { filters: { filters: counted.map((queryFor) => inFields(one, queryFor)) } } }),
      },
    },
  ])
  return {
    size: 0,
    track_total_hits: false,
    query: inScopeDatasets(scope),
    aggs: { chunks: { nested: { path: chunksPath }, aggs: Object.fromEntries(aggs) } },
  }
}

export function readStatistics(
  { aggregations }: StatisticsAnswer,
  classes: readonly VisibleClass[],
  query: KeywordQuery,
): ScopeStatistics {
  const keys = [...countedOf(query).keys()]
  let chunks = 0
  let totalLength = 0
  const counts = new Map<string, number>()
  classes.forEach(({ title, body }, i) => {
    const counted = aggregations.chunks[`class${i}`]!
    chunks += counted.doc_count
    totalLength += (title ? counted.title.value : 0) + (body ? counted.body.value : 0)
    for (const [j, key] of keys.entries()) {
      counts.set(key, (counts.get(key) ?? 0) + counted.found!.buckets[j]!.doc_count)
    }
  })
  return new ScopeStatistics(chunks, totalLength, counts)
}
