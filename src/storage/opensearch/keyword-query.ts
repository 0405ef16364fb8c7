import type { SearchFilters } from '../../search/search-index.ts'
import { titleWeight, weightOfIdf } from '../../text/bm25.ts'
import type { Clause, KeywordQuery } from '../../text/types.ts'
import { encodeTerm } from './encode-terms.ts'
import { ofChunk } from './mapping.ts'
import { filterQueries, oneOf, type Query, type VisibleClass } from './scope-query.ts'
import { groupsOf, inFields, looseOf, prefixQuery, type ScopeStatistics } from './scope-statistics.ts'

/**
 * Translates a keyword query for the cluster. A match in a field scores its frequency (mapping.ts); the fields are
 * added, the title three times; then a script computes BM25 from it, with the statistics of the scope and the length of
 * the fields that may be searched. Lucene's own BM25 would count what the scope does not open, keeps lengths in one
 * byte, and adds fields afterwards.
 */
export function keywordQuery(
  query: KeywordQuery,
  classes: readonly VisibleClass[],
  filters: SearchFilters,
  statistics: ScopeStatistics,
): Query {
  const known = lastBuilt.get(statistics)
  if (known?.query === query && known.classes === classes && known.filters === filters) return known.built
  const built = buildQuery(query, classes, filterQueries(filters), statistics)
  lastBuilt.set(statistics, { query, classes, filters, built })
  return built
}

/** A hybrid search uses the same statistics three times. */
const lastBuilt = new WeakMap<
  ScopeStatistics,
  {
    readonly query: KeywordQuery
    readonly classes: readonly VisibleClass[]
    readonly filters: SearchFilters
    readonly built: Query
  }
>()

function buildQuery(
  query: KeywordQuery,
  classes: readonly VisibleClass[],
  filters: readonly Query[],
  statistics: ScopeStatistics,
): Query {
  const clauses = merged(query.clauses)
  let built: Query = { match_none: {} }
  for (const { withBoosts, ...cut } of cuts) {
    const whole = { clauses, boosts: withBoosts ? merged(query.boosts) : [] }
    built = oneOf(classes.map((one) => scoredQuery(whole, one, filters, { statistics, ...cut })))
    if (leavesOf(built) <= leavesMax) break
  }
  return built
}

/**
 * The cluster accepts 1,024 clauses in a query. A larger query, with corrections of many words, still finds all of them
 * but ranks only by the strongest: first the boosts are left out, then all but some alternatives of a word, then words.
 */
const leavesMax = 1000
const all = Number.POSITIVE_INFINITY
const cuts = [
  { words: all, alternatives: all, withBoosts: true },
  { words: all, alternatives: all, withBoosts: false },
  { words: all, alternatives: 10, withBoosts: false },
  { words: 300, alternatives: 1, withBoosts: false },
]

const leaves = new Set(['term', 'terms', 'prefix', 'range', 'intervals'])

const leavesOf = (query: unknown): number => {
  if (typeof query !== 'object' || query === null) return 0
  let sum = 0
  // Counts in place, without a list of entries, because it runs for every keyword search on the main thread.
  if (Array.isArray(query)) for (const one of query) sum += leavesOf(one)
  else for (const name in query) sum += leaves.has(name) ? 1 : leavesOf((query as Query)[name])
  return sum
}

interface Scoring {
  readonly statistics: ScopeStatistics
  /**
   * The number of optional words, and of alternatives of each, that are scored: those with the highest weight.
   * Documents that only match others come last.
   */
  readonly words: number
  readonly alternatives: number
}

function scoredQuery(
  { clauses, boosts }: KeywordQuery,
  one: VisibleClass,
  filters: readonly Query[],
  scoring: Scoring,
): Query {
  const scored = (some: readonly Clause[]) => some.map((clause) => scoredClause(clause, one, scoring))
  const of = (kind: Clause['kind']) => clauses.filter((clause) => clause.kind === kind)
  const any = scored(strongest(of('any'), scoring.words, (clause) => mostOf(clause, scoring.statistics)))
  if (any.length > 0 && (scoring.words < all || scoring.alternatives < all)) any.push(barely(of('any'), one))
  const must = scored(of('must')).map((query, i) =>
    scoring.alternatives < all ? oneOf([query, barely([of('must')[i]!], one)]) : query,
  )
  const isOptional = must.length > 0
  return {
    bool: {
      filter: [one.filter, ...filters],
      must: isOptional || any.length === 0 ? must : [oneOf(any)],
      should: [...(isOptional ? any : []), ...scored(boosts)],
      must_not: [matchingAny(of('mustNot'), one)],
      minimum_should_match: 0,
    },
  }
}

/** The chunks that the query finds, without their scores. */
export function matchingQuery(query: KeywordQuery, classes: readonly VisibleClass[], filters: readonly Query[]): Query {
  const clauses = merged(query.clauses)
  return oneOf(
    classes.map((one) => {
      const of = (kind: Clause['kind']) => clauses.filter((clause) => clause.kind === kind)
      const must = of('must').map((clause) => matchingAny([clause], one))
      return {
        bool: {
          filter: [one.filter, ...filters, ...(must.length > 0 ? must : [matchingAny(of('any'), one)])],
          must_not: [matchingAny(of('mustNot'), one)],
        },
      }
    }),
  )
}

/** Whether the query can match anything at all. */
export const asksForSomething = ({ clauses }: KeywordQuery): boolean => clauses.some(({ kind }) => kind !== 'mustNot')

/** Joins equal clauses into one with the sum of their weights: the cluster limits the number of clauses. */
function merged(clauses: readonly Clause[]): readonly Clause[] {
  const distinct = new Map<string, Clause>()
  for (const clause of clauses) {
    const key = JSON.stringify([clause.kind, groupsOf(clause), looseOf(clause)])
    const before = distinct.get(key)
    distinct.set(key, before === undefined ? clause : { ...before, weight: weightOf(before) + weightOf(clause) })
  }
  return [...distinct.values()]
}

/** An invalid weight counts as 1. */
export const weightOf = ({ weight }: Pick<Clause, 'weight'>): number =>
  weight > 0 && Number.isFinite(weight) ? weight : 1

/** A phrase is several groups in a row, or adjacent words that are each found alone. */
export const isPhrase = (clause: Clause): boolean => groupsOf(clause).length !== 1

/** At least one of the clauses must match. */
function matchingAny(clauses: readonly Clause[], one: VisibleClass): Query {
  const phrases = clauses.filter(isPhrase)
  const words = clauses.filter((clause) => !isPhrase(clause))
  const loose = words.flatMap(looseOf)
  const terms = [
    ...words.flatMap((clause) => groupsOf(clause)[0]!),
    ...loose.flatMap((match) => ('terms' in match ? match.terms : [])),
  ]
  const encoded = [...new Set(terms.map(encodeTerm))].filter((term) => term !== null)
  const beginnings = loose.flatMap((match) => ('beginning' in match ? [match.beginning] : []))
  return oneOf([
    ...(encoded.length === 0 ? [] : [inFields(one, (field) => ({ terms: { [ofChunk(field)]: encoded } }))]),
    ...beginnings.map((beginning) => inFields(one, prefixQuery(beginning))),
    ...phrases.map((clause) => inFields(one, (field) => phraseQuery(clause, field))),
  ])
}

/** Matches of these clauses, with a score so low that it changes no order among scored documents. */
const barely = (clauses: readonly Clause[], one: VisibleClass): Query => ({
  constant_score: { filter: matchingAny(clauses, one), boost: 1e-9 },
})

const strongest = <T>(some: readonly T[], most: number, strength: (one: T) => number): readonly T[] =>
  some.length <= most ? some : some.toSorted((a, b) => strength(b) - strength(a)).slice(0, most)

const mostOf = (clause: Clause, statistics: ScopeStatistics): number =>
  isPhrase(clause) ? phraseIdf(clause, statistics) : Math.max(...alternativesOf(clause, statistics).map(strengthOf), 0)

/** A term that does not occur counts as 0, however rare that makes it. */
const strengthOf = ({ idf, occurs }: Alternative): number => (occurs ? idf : 0)

function scoredClause(clause: Clause, one: VisibleClass, { statistics, alternatives }: Scoring): Query {
  if (isPhrase(clause)) {
    const idf = phraseIdf(clause, statistics)
    const found = (field: string, weight: number) => countedPhrase(phraseQuery(clause, field), weight)
    return saturated(weightOf(clause) * idf, frequency(one, found), one, statistics)
  }
  const queries = strongest(alternativesOf(clause, statistics), alternatives, strengthOf).map(({ of, idf }) => {
    const found = (field: string, weight: number): Query => {
      if ('beginning' in of) return { constant_score: { filter: prefixQuery(of.beginning)(field), boost: weight } }
      const encoded = encodeTerm(of.term)
      return encoded === null ? { match_none: {} } : { term: { [ofChunk(field)]: { value: encoded, boost: weight } } }
    }
    return saturated(weightOf(clause) * idf, frequency(one, found), one, statistics)
  })
  if (queries.length === 0) return { match_none: {} }
  return queries.length === 1 ? queries[0]! : { dis_max: { queries } }
}

export interface Alternative {
  readonly of: { readonly term: string } | { readonly beginning: string }
  /** Includes the factor of the alternative. */
  readonly idf: number
  /** In a current version that may be searched. */
  readonly occurs: boolean
}

/** The alternatives that find a word, each once, with its highest weight. */
export function alternativesOf(clause: Clause, statistics: ScopeStatistics): Alternative[] {
  const group = groupsOf(clause)[0]!
  const terms = new Map(group.map((term) => [term, statistics.idfOfTerm(term)]))
  const beginnings = new Map<string, number>()
  // An alternative counts as no rarer than the word itself, if that occurs.
  const most = Math.min(...group.filter((term) => statistics.occurs(term)).map((term) => statistics.idfOfTerm(term)))
  for (const match of looseOf(clause)) {
    const factor = match.factor > 0 && Number.isFinite(match.factor) ? match.factor : 1
    const counts = (to: Map<string, number>, name: string, idf: number) =>
      to.set(name, Math.max(to.get(name) ?? 0, factor * Math.min(most, idf)))
    if ('terms' in match) for (const term of match.terms) counts(terms, term, statistics.idfOfTerm(term))
    else counts(beginnings, match.beginning, statistics.idfOfPrefix(match.beginning))
  }
  return [
    ...Array.from(terms, ([term, idf]) => ({ of: { term }, idf, occurs: statistics.occurs(term) })),
    ...Array.from(beginnings, ([beginning, idf]) => ({ of: { beginning }, idf, occurs: true })),
  ]
}

/** The sum over the groups; 0 if one of them is empty, because nothing matches it. */
export function phraseIdf(clause: Clause, statistics: ScopeStatistics): number {
  const groups = groupsOf(clause)
  if (groups.length === 0 || groups.some((group) => group.length === 0)) return 0
  return groups.reduce((sum, group) => sum + statistics.idfOfGroup(group), 0)
}

function phraseQuery(clause: Clause, field: string): Query {
  const groups = groupsOf(clause).map((group) =>
    [...new Set(group.map(encodeTerm))].filter((term) => term !== null).join('|'),
  )
  if (groups.length === 0 || groups.includes('')) return { match_none: {} }
  const match = { query: groups.join(' '), ordered: true, max_gaps: 0 }
  return { intervals: { [ofChunk(field)]: { match } } }
}

/** The cluster scores f occurrences as f / (f + 1). */
const countedPhrase = (query: Query, weight: number): Query =>
  'match_none' in query
    ? query
    : {
        script_score: {
          query,
          script: { source: 'params.weight * Math.round(_score / (1 - _score))', params: { weight } },
        },
      }

const frequency = (one: VisibleClass, found: (field: string, weight: number) => Query): Query =>
  inFields(one, (field) => found(field, field === 'title' ? titleWeight : 1))

const lengthOf = ({ title, body }: VisibleClass): string =>
  [...(title ? ['title_length'] : []), ...(body ? ['body_length'] : [])]
    .map((field) => `doc['${ofChunk(field)}'].value`)
    .join(' + ')

/** BM25 as in `bm25` of text/bm25.ts, computed by the cluster: the score of the query is the frequency. */
function saturated(idf: number, query: Query, one: VisibleClass, { norm }: ScopeStatistics): Query {
  if ('match_none' in query) return query
  return {
    script_score: {
      query,
      script: {
        source: `params.weight * _score / (_score + params.base + params.step * (${lengthOf(one)}))`,
        params: { weight: weightOfIdf(idf), base: norm.normBase, step: norm.normStep },
      },
    },
  }
}
