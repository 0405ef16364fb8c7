import type { Clause, KeywordQuery } from '../../text/types.ts'
import { encodeTerm } from './encode-terms.ts'
import { ofChunk } from './mapping.ts'
import { oneOf, type Query, type VisibleClass } from './scope-query.ts'
import {
  b,
  beginningQuery,
  groupsOf,
  inFields,
  k1,
  looseOf,
  type ScopeStatistics,
  termQuery,
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
  filters: readonly Query[],
  statistics: ScopeStatistics,
): Query {
  const clauses = merged(query.clauses)
  const boosts = merged(query.boosts)
  return oneOf(
    classes.map((one) => {
      const scored = (some: readonly Clause[]) => some.map((clause) => scoredClause(clause, one, statistics))
      const of = (kind: Clause['kind']) => clauses.filter((clause) => clause.kind === kind)
      const any = scored(of('any'))
      const must = scored(of('must'))
      const isOptional = must.length > 0
      return {
        bool: {
          filter: [one.filter, ...filters],
          must: isOptional || any.length === 0 ? must : [oneOf(any)],
          should: [...(isOptional ? any : []), ...scored(boosts)],
          must_not: of('mustNot').map((clause) => matchingClause(clause, one)),
          minimum_should_match: 0,
        },
      }
    }),
  )
}

/** The chunks that it finds, without their scores. */
export function matchingQuery(query: KeywordQuery, classes: readonly VisibleClass[], filters: readonly Query[]): Query {
  const clauses = merged(query.clauses)
  return oneOf(
    classes.map((one) => {
      const of = (kind: Clause['kind']) =>
        clauses.filter((clause) => clause.kind === kind).map((clause) => matchingClause(clause, one))
      const must = of('must')
      return {
        bool: {
          filter: [one.filter, ...filters, ...(must.length > 0 ? must : [oneOf(of('any'))])],
          must_not: of('mustNot'),
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

function matchingClause(clause: Clause, one: VisibleClass): Query {
  if (isPhrase(clause)) return inFields(one, (field) => phraseQuery(clause, field))
  const words = groupsOf(clause)[0]!.map((term) => inFields(one, termQuery(term)))
  const others = looseOf(clause).map((match) =>
    'terms' in match
      ? oneOf(match.terms.map((term) => inFields(one, termQuery(term))))
      : inFields(one, beginningQuery(match.beginning)),
  )
  return oneOf([...words, ...others])
}

function scoredClause(clause: Clause, one: VisibleClass, statistics: ScopeStatistics): Query {
  if (isPhrase(clause)) {
    const idf = phraseIdf(clause, statistics)
    const found = (field: string, weight: number) => countedPhrase(phraseQuery(clause, field), weight)
    return saturated(weightOf(clause) * idf, frequency(one, found), one, statistics)
  }
  const alternatives = alternativesOf(clause, statistics).map(({ of, idf }) => {
    const found = (field: string, weight: number): Query => {
      if ('beginning' in of) return { constant_score: { filter: beginningQuery(of.beginning)(field), boost: weight } }
      const encoded = encodeTerm(of.term)
      return encoded === null ? { match_none: {} } : { term: { [ofChunk(field)]: { value: encoded, boost: weight } } }
    }
    return saturated(weightOf(clause) * idf, frequency(one, found), one, statistics)
  })
  if (alternatives.length === 0) return { match_none: {} }
  return alternatives.length === 1 ? alternatives[0]! : { dis_max: { queries: alternatives } }
}

export interface Alternative {
  readonly of: { readonly term: string } | { readonly beginning: string }
  /** With its factor. */
  readonly idf: number
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
    ...Array.from(terms, ([term, idf]) => ({ of: { term }, idf })),
    ...Array.from(beginnings, ([beginning, idf]) => ({ of: { beginning }, idf })),
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
