import type { Scope } from '../../access/scope.ts'
import { packStatistics, unpackStatistics } from '../../search/keyword-statistics.ts'
import { idfOf, type LengthNorm, lengthNorm } from '../../text/bm25.ts'
import type { Clause, KeywordQuery, LooseMatch, TermGroup } from '../../text/types.ts'
import { encodedPrefixes, encodeTerm } from './encode-terms.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import { allOf, isCurrent, ofDatasets, oneOf, type Query, type VisibleClass } from './scope-query.ts'

/**
 * The size of everything that a scope may search in current versions, and how many of those chunks contain each part of
 * a query.
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

  /** Reads the result of `handedOn` for the same query; `null` for another query. */
  static from(handed: readonly number[] | undefined, query: KeywordQuery): ScopeStatistics | null {
    const asked = [...countedOf(query).keys()]
    const counted = unpackStatistics(handed, asked)
    if (counted === null) return null
    const { chunks, totalLength, counts } = counted
    return new ScopeStatistics(chunks, totalLength, new Map(asked.map((key, i) => [key, counts[i]!])))
  }

  /** The numbers for the next page. */
  handedOn(query: KeywordQuery): readonly number[] | undefined {
    const asked = [...countedOf(query).keys()]
    const counts = asked.map((key) => this.#counts.get(key) ?? 0)
    return packStatistics(asked, { chunks: this.#chunks, totalLength: this.#totalLength, counts })
  }

  idfOfTerm(term: string): number {
    return this.#idf(this.#counts.get(termKey(term)) ?? 0)
  }

  occurs(term: string): boolean {
    return (this.#counts.get(termKey(term)) ?? 0) > 0
  }

  idfOfPrefix(beginning: string): number {
    return this.#idf(this.#counts.get(prefixKey(beginning)) ?? 0)
  }

  /** The idf of its most frequent alternative. */
  idfOfGroup(group: TermGroup): number {
    return Math.min(...group.map((term) => this.idfOfTerm(term)))
  }

  #idf(count: number): number {
    return idfOf(this.#chunks, count)
  }
}

const termKey = (term: string): string => `t${term}`
const prefixKey = (beginning: string): string => `b${beginning}`

export const groupsOf = (clause: Clause): readonly TermGroup[] =>
  clause.type === 'word' ? [clause.group] : clause.groups
export const looseOf = (clause: Clause): readonly LooseMatch[] => (clause.type === 'word' ? (clause.loose ?? []) : [])

/** Everything that a query needs counts of: the query for a field, by its key. */
function countedOf(query: KeywordQuery): Map<string, (field: string) => Query> {
  const counted = new Map<string, (field: string) => Query>()
  for (const clause of [...query.clauses, ...query.boosts]) {
    for (const term of groupsOf(clause).flat()) counted.set(termKey(term), termQuery(term))
    for (const match of looseOf(clause)) {
      if ('terms' in match) for (const term of match.terms) counted.set(termKey(term), termQuery(term))
      else counted.set(prefixKey(match.beginning), prefixQuery(match.beginning))
    }
  }
  return counted
}

export const termQuery =
  (term: string) =>
  (field: string): Query => {
    const encoded = encodeTerm(term)
    return encoded === null ? { match_none: {} } : { term: { [ofChunk(field)]: encoded } }
  }

export const prefixQuery =
  (beginning: string) =>
  (field: string): Query =>
    oneOf(encodedPrefixes(beginning).map((one) => ({ prefix: { [ofChunk(field)]: one } })))

/** Searches the fields of the class that may be searched. */
export const inFields = ({ title, body }: VisibleClass, lookFor: (field: string) => Query): Query =>
  oneOf([...(title ? [lookFor('title')] : []), ...(body ? [lookFor('body')] : [])])

interface CountedClass {
  readonly doc_count: number
  readonly title: { readonly value: number }
  readonly body: { readonly value: number }
  readonly found?: { readonly buckets: readonly { readonly doc_count: number }[] }
}
export interface StatisticsAnswer {
  readonly aggregations: { readonly chunks: Readonly<Record<string, CountedClass>> }
}

/** A request without hits; every shard caches its answer until the shard changes. */
export function statisticsRequest(scope: Scope, classes: readonly VisibleClass[], query: KeywordQuery): object {
  const counted = [...countedOf(query).values()]
  const aggs = classes.map((one, i) => [
    `class${i}`,
    {
      filter: allOf(one.filter, isCurrent),
      aggs: {
        title: { sum: { field: ofChunk('title_length') } },
        body: { sum: { field: ofChunk('body_length') } },
        ...(counted.length === 0
          ? {}
          : { found: { filters: { filters: counted.map((lookFor) => inFields(one, lookFor)) } } }),
      },
    },
  ])
  return {
    size: 0,
    track_total_hits: false,
    query: ofDatasets(scope),
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
