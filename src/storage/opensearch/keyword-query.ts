import type { SearchFilters } from '../../search/search-index.ts'
import type { Clause, KeywordQuery } from '../../text/types.ts'
import { encodeTerm } from './encode-terms.ts'
import { ofChunk } from './mapping.ts'
import { filterQueries, oneOf, type Query, type VisibleClass } from './scope-query.ts'
import {
  b,
  beginningQuery,
  groupsOf,
  inFields,
  k1,
  looseOf,
  type ScopeStatistics,
  titleWeight,
} from './scope-statistics.ts'

/**
 * A query by words as one of the cluster's. What stands in a field scores how often it does (mapping.ts); fields are added,
 * the title three times; then a script makes BM25 of it, with the statistics of the scope and the length of what may be
 * searched. Lucene's own would count what the scope does not open, keeps lengths in one byte, and adds fields afterwards.
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

/** A hybrid search asks three times by the same one. */
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
 * The cluster takes 1,024 conditions in one query. What has more, as corrections of many words do, is found by all of them
 * and ranked by the strongest alone: first the boosts are left out, then all but some alternatives of a word, then words.
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
  // Without lists of its entries: it is done for every search by words, between two requests.
  if (Array.isArray(query)) for (const one of query) sum += leavesOf(one)
  else for (const name in query) sum += leaves.has(name) ? 1 : leavesOf((query as Query)[name])
  return sum
}

interface Scoring {
  readonly statistics: ScopeStatistics
  /** Words that need not be there, and alternatives of each: those that count for most. What only others find comes last. */
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

/** The chunks that it finds, without their scores. */
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

/** Whether it can match anything at all. */
export const asksForSomething = ({ clauses }: KeywordQuery): boolean => clauses.some(({ kind }) => kind !== 'mustNot')

/** Equal clauses are one of their weight together: the cluster counts clauses. */
function merged(clauses: readonly Clause[]): readonly Clause[] {
  const distinct = new Map<string, Clause>()
  for (const clause of clauses) {
    const key = JSON.stringify([clause.kind, groupsOf(clause), looseOf(clause)])
    const before = distinct.get(key)
    distinct.set(key, before === undefined ? clause : { ...before, weight: weightOf(before) + weightOf(clause) })
  }
  return [...distinct.values()]
}

/** Anything that is no weight counts as 1. */
export const weightOf = ({ weight }: Pick<Clause, 'weight'>): number =>
  weight > 0 && Number.isFinite(weight) ? weight : 1

/** Several groups one after the other, or words that are each found alone. */
export const isPhrase = (clause: Clause): boolean => groupsOf(clause).length !== 1

/** Of several one has to match. */
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
    ...beginnings.map((beginning) => inFields(one, beginningQuery(beginning))),
    ...phrases.map((clause) => inFields(one, (field) => phraseQuery(clause, field))),
  ])
}

/** What they find, for so little that it changes no order among what is scored. */
const barely = (clauses: readonly Clause[], one: VisibleClass): Query => ({
  constant_score: { filter: matchingAny(clauses, one), boost: 1e-9 },
})

const strongest = <T>(some: readonly T[], most: number, strength: (one: T) => number): readonly T[] =>
  some.length <= most ? some : some.toSorted((a, b) => strength(b) - strength(a)).slice(0, most)

const mostOf = (clause: Clause, statistics: ScopeStatistics): number =>
  isPhrase(clause) ? phraseIdf(clause, statistics) : Math.max(...alternativesOf(clause, statistics).map(strengthOf), 0)

/** What does not occur counts for nothing, however rare that makes it. */
const strengthOf = ({ idf, occurs }: Alternative): number => (occurs ? idf : 0)

function scoredClause(clause: Clause, one: VisibleClass, { statistics, alternatives }: Scoring): Query {
  if (isPhrase(clause)) {
    const idf = phraseIdf(clause, statistics)
    const found = (field: string, weight: number) => countedPhrase(phraseQuery(clause, field), weight)
    return saturated(weightOf(clause) * idf, frequency(one, found), one, statistics)
  }
  const queries = strongest(alternativesOf(clause, statistics), alternatives, strengthOf).map(({ of, idf }) => {
    const found = (field: string, weight: number): Query => {
      if ('beginning' in of) return { constant_score: { filter: beginningQuery(of.beginning)(field), boost: weight } }
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
  /** With its factor. */
  readonly idf: number
  /** In a current version that may be searched. */
  readonly occurs: boolean
}

/** What finds a word, each once, with the most that it counts for. */
export function alternativesOf(clause: Clause, statistics: ScopeStatistics): Alternative[] {
  const group = groupsOf(clause)[0]!
  const terms = new Map(group.map((term) => [term, statistics.idfOfTerm(term)]))
  const beginnings = new Map<string, number>()
  // What is found instead of the word is taken for no rarer than the word, where that occurs.
  const most = Math.min(...group.filter((term) => statistics.occurs(term)).map((term) => statistics.idfOfTerm(term)))
  for (const match of looseOf(clause)) {
    const factor = match.factor > 0 && Number.isFinite(match.factor) ? match.factor : 1
    const counts = (to: Map<string, number>, name: string, idf: number) =>
      to.set(name, Math.max(to.get(name) ?? 0, factor * Math.min(most, idf)))
    if ('terms' in match) for (const term of match.terms) counts(terms, term, statistics.idfOfTerm(term))
    else counts(beginnings, match.beginning, statistics.idfOfBeginning(match.beginning))
  }
  return [
    ...Array.from(terms, ([term, idf]) => ({ of: { term }, idf, occurs: statistics.occurs(term) })),
    ...Array.from(beginnings, ([beginning, idf]) => ({ of: { beginning }, idf, occurs: true })),
  ]
}

/** The sum over its groups; 0 where one of them is empty, which nothing matches. */
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

function saturated(weight: number, query: Query, one: VisibleClass, { averageLength }: ScopeStatistics): Query {
  if ('match_none' in query) return query
  return {
    script_score: {
      query,
      script: {
        source: `params.weight * _score / (_score + params.base + params.step * (${lengthOf(one)}))`,
        params: { weight: weight * (k1 + 1), base: k1 * (1 - b), step: (k1 * b) / averageLength },
      },
    },
  }
}
