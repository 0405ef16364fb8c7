import type { SearchFilters } from '../../search/search-index.ts'
import { maxScoreOfIdf, titleWeight } from '../../text/bm25.ts'
import type { Clause, KeywordQuery } from '../../text/types.ts'
import { encodeTerm } from './encode-terms.ts'
import { chunkField } from './mapping.ts'
import { filterQueries, oneOf, type Query, type VisibleClass } from './scope-query.ts'
import { expansionsOf, groupsOf, inFields, prefixQuery, type ScopeStatistics } from './scope-statistics.ts'

/**
 * Translates a keyword query for the cluster. A match in a field scores its frequency (`mapping.ts`). The frequencies
 * of the fields are added, with weight 3 for the title. Then a script computes BM25 from the sum, with the statistics
 * of the scope and the length of the fields that may be searched. Lucene's own BM25 cannot be used: its statistics
 * include chunks that the scope does not open, its lengths are rounded to one byte, and it scores each field
 * separately.
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

/** The last query built for each statistics object. A hybrid search needs the same query up to three times. */
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
 * The cluster accepts 1,024 clauses in a query. A larger query, such as one with corrections of many words, still finds
 * all matches but is only ranked by its highest weights: `cuts` first leaves out the boosts, then alternatives of
 * words, then words.
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
  // Does not allocate lists of entries, because it runs on the main thread for every keyword search.
  if (Array.isArray(query)) for (const one of query) sum += leavesOf(one)
  else for (const name in query) sum += leaves.has(name) ? 1 : leavesOf((query as Query)[name])
  return sum
}

interface Scoring {
  readonly statistics: ScopeStatistics
  /**
   * The most optional words, and alternatives of each, that are scored. Those with the highest weight are scored;
   * documents that only match others come last.
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
  if (any.length > 0 && (scoring.words < all || scoring.alternatives < all)) any.push(matchedLast(of('any'), one))
  const must = scored(of('must')).map((query, i) =>
    scoring.alternatives < all ? oneOf([query, matchedLast([of('must')[i]!], one)]) : query,
  )
  const hasRequired = must.length > 0
  return {
    bool: {
      filter: [one.filter, ...filters],
      must: hasRequired || any.length === 0 ? must : [oneOf(any)],
      should: [...(hasRequired ? any : []), ...scored(boosts)],
      must_not: [matchingAny(of('mustNot'), one)],
      minimum_should_match: 0,
    },
  }
}

/** A query for the same chunks, without scores. */
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

/** Whether the query has a clause that can match. */
export const canMatch = ({ clauses }: KeywordQuery): boolean => clauses.some(({ kind }) => kind !== 'mustNot')

/** Joins equal clauses into one with the sum of their weights: the cluster limits the number of clauses. */
function merged(clauses: readonly Clause[]): readonly Clause[] {
  const distinct = new Map<string, Clause>()
  for (const clause of clauses) {
    const key = JSON.stringify([clause.kind, groupsOf(clause), expansionsOf(clause)])
    const before = distinct.get(key)
    distinct.set(key, before === undefined ? clause : { ...before, weight: weightOf(before) + weightOf(clause) })
  }
  return [...distinct.values()]
}

/** An invalid weight counts as 1. */
export const weightOf = ({ weight }: Pick<Clause, 'weight'>): number =>
  weight > 0 && Number.isFinite(weight) ? weight : 1

/** Whether the clause has several groups in a row, as a phrase or a boost of adjacent words has. */
export const isPhrase = (clause: Clause): boolean => groupsOf(clause).length !== 1

/** At least one of the clauses must match. */
function matchingAny(clauses: readonly Clause[], one: VisibleClass): Query {
  const phrases = clauses.filter(isPhrase)
  const words = clauses.filter((clause) => !isPhrase(clause))
  const expansions = words.flatMap(expansionsOf)
  const terms = [
    ...words.flatMap((clause) => groupsOf(clause)[0]!),
    ...expansions.flatMap((match) => ('terms' in match ? match.terms : [])),
  ]
  const encoded = [...new Set(terms.map(encodeTerm))].filter((term) => term !== null)
  const prefixes = expansions.flatMap((match) => ('prefix' in match ? [match.prefix] : []))
  return oneOf([
    ...(encoded.length === 0 ? [] : [inFields(one, (field) => ({ terms: { [chunkField(field)]: encoded } }))]),
    ...prefixes.map((prefix) => inFields(one, prefixQuery(prefix))),
    ...phrases.map((clause) => inFields(one, (field) => phraseQuery(clause, field))),
  ])
}

/** Matches of these clauses, with a score that is too low to change the order of scored documents. */
const matchedLast = (clauses: readonly Clause[], one: VisibleClass): Query => ({
  constant_score: { filter: matchingAny(clauses, one), boost: 1e-9 },
})

const strongest = <T>(some: readonly T[], most: number, strength: (one: T) => number): readonly T[] =>
  some.length <= most ? some : some.toSorted((a, b) => strength(b) - strength(a)).slice(0, most)

const mostOf = (clause: Clause, statistics: ScopeStatistics): number =>
  isPhrase(clause) ? phraseIdf(clause, statistics) : Math.max(...alternativesOf(clause, statistics).map(strengthOf), 0)

/** A term that does not occur has strength 0, although its idf is the highest. */
const strengthOf = ({ idf, occurs }: Alternative): number => (occurs ? idf : 0)

function scoredClause(clause: Clause, one: VisibleClass, { statistics, alternatives }: Scoring): Query {
  if (isPhrase(clause)) {
    const idf = phraseIdf(clause, statistics)
    const found = (field: string, weight: number) => countedPhrase(phraseQuery(clause, field), weight)
    return bm25Query(weightOf(clause) * idf, frequency(one, found), one, statistics)
  }
  const queries = strongest(alternativesOf(clause, statistics), alternatives, strengthOf).map(({ of, idf }) => {
    const found = (field: string, weight: number): Query => {
      if ('prefix' in of) return { constant_score: { filter: prefixQuery(of.prefix)(field), boost: weight } }
      const encoded = encodeTerm(of.term)
      return encoded === null
        ? { match_none: {} }
        : { term: { [chunkField(field)]: { value: encoded, boost: weight } } }
    }
    return bm25Query(weightOf(clause) * idf, frequency(one, found), one, statistics)
  })
  if (queries.length === 0) return { match_none: {} }
  return queries.length === 1 ? queries[0]! : { dis_max: { queries } }
}

export interface Alternative {
  readonly of: { readonly term: string } | { readonly prefix: string }
  /** Multiplied by the factor of the alternative. */
  readonly idf: number
  /** Whether it occurs in a current version that may be searched. */
  readonly occurs: boolean
}

/** The alternatives that match a word. Each is listed once, with its highest weight. */
export function alternativesOf(clause: Clause, statistics: ScopeStatistics): Alternative[] {
  const group = groupsOf(clause)[0]!
  const terms = new Map(group.map((term) => [term, statistics.idfOfTerm(term)]))
  const prefixes = new Map<string, number>()
  // If the word itself occurs, no alternative has a higher idf than it.
  const most = Math.min(...group.filter((term) => statistics.occurs(term)).map((term) => statistics.idfOfTerm(term)))
  for (const match of expansionsOf(clause)) {
    const factor = match.factor > 0 && Number.isFinite(match.factor) ? match.factor : 1
    const raise = (to: Map<string, number>, name: string, idf: number) =>
      to.set(name, Math.max(to.get(name) ?? 0, factor * Math.min(most, idf)))
    if ('terms' in match) for (const term of match.terms) raise(terms, term, statistics.idfOfTerm(term))
    else raise(prefixes, match.prefix, statistics.idfOfPrefix(match.prefix))
  }
  return [
    ...Array.from(terms, ([term, idf]) => ({ of: { term }, idf, occurs: statistics.occurs(term) })),
    ...Array.from(prefixes, ([prefix, idf]) => ({ of: { prefix }, idf, occurs: true })),
  ]
}

/** The sum of the groups' idf; 0 if a group is empty, because then nothing matches. */
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
  return { intervals: { [chunkField(field)]: { match } } }
}

/** `intervals` scores f occurrences as f / (f + 1). The script converts the score back to f. */
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
    .map((field) => `doc['${chunkField(field)}'].value`)
    .join(' + ')

/** The formula of `bm25` in `text/bm25.ts`, as a script for the cluster. The score of `query` is the frequency. */
function bm25Query(idf: number, query: Query, one: VisibleClass, { norm }: ScopeStatistics): Query {
  if ('match_none' in query) return query
  return {
    script_score: {
      query,
      script: {
        source: `params.weight * _score / (_score + params.base + params.step * (${lengthOf(one)}))`,
        params: { weight: maxScoreOfIdf(idf), base: norm.normBase, step: norm.normStep },
      },
    },
  }
}
