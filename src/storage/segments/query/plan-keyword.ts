import type { KeywordStatistics } from '../../../search/keyword-statistics.ts'
import { idfOf, type LengthNorm, lengthNorm, maxScoreOfIdf } from '../../../text/bm25.ts'
import type { Clause, KeywordQuery, TermExpansion, TermGroup } from '../../../text/types.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { PrefixLists } from './prefix-chunks.ts'

export interface PlannedTerm {
  readonly term: number
  /** The highest score of the term (`text/bm25.ts`), times the clause's weight. */
  readonly weight: number
}

/** All terms with one prefix, which count as one term. */
export interface PlannedPrefix {
  readonly lists: PrefixLists
  readonly weight: number
}

export type PlannedAlternative = PlannedTerm | PlannedPrefix

interface Planned {
  /** Its position among the clauses of the query, followed by the boosts. */
  readonly number: number
}

export interface PlannedWord extends Planned {
  readonly type: 'word'
  /** The alternatives that occur. The score is that of the best term or prefix. */
  readonly terms: readonly PlannedTerm[]
  readonly prefixes: readonly PlannedPrefix[]
}

export const alternativesOf = ({ terms, prefixes }: PlannedWord): readonly PlannedAlternative[] => [
  ...terms,
  ...prefixes,
]

export interface PlannedPhrase extends Planned {
  readonly type: 'phrase'
  readonly groups: readonly (readonly number[])[]
  /**
   * The sum of the groups' idf, each that of its most frequent alternative. Counting the phrase itself would require
   * checking every candidate before the first is scored, and would not change the order of a query with one phrase.
   */
  readonly weight: number
}

export type PlannedClause = PlannedWord | PlannedPhrase

export interface KeywordPlan extends LengthNorm {
  readonly must: readonly PlannedClause[]
  readonly any: readonly PlannedClause[]
  readonly mustNot: readonly PlannedClause[]
  /** Added to the score of chunks that match the other clauses. */
  readonly boosts: readonly PlannedClause[]
  /** The number of clauses of the query, with boosts, whether they occur or not. */
  readonly clauses: number
  /** Nothing can match, because there is no positive clause, or the terms of a required one do not occur. */
  readonly empty: boolean
  readonly titleWeight: number
}

/**
 * The collection that BM25 compares a chunk with: all current versions that the scope may search, regardless of other
 * filters. Documents outside the scope have no influence, so that scores reveal nothing about them. Filters of the
 * request have none either, so that a document scores the same on every page and with any filter.
 */
export interface ScopeStatistics {
  readonly chunks: number
  /** The length of the fields that may be searched, over those chunks. */
  readonly totalLength: number
  /** By term number: the number of those chunks that contain the term in a field that may be searched. */
  readonly counts: ReadonlyMap<number, number>
  /** By prefix: the number of chunks with such a term. */
  readonly prefixCounts: ReadonlyMap<string, number>
}

export const noStatistics: ScopeStatistics = { chunks: 0, totalLength: 0, counts: new Map(), prefixCounts: new Map() }

/** The counts in the order of the terms and the prefixes of the query. */
export function countedBy(
  { chunks, totalLength, counts, prefixCounts }: ScopeStatistics,
  terms: TermNumbers,
  prefixed: ReadonlyMap<string, unknown>,
): KeywordStatistics {
  const ofTerms = [...terms.values()].map((term) => counts.get(term) ?? 0)
  const ofPrefixes = [...prefixed.keys()].map((prefix) => prefixCounts.get(prefix) ?? 0)
  return { chunks, totalLength, counts: [...ofTerms, ...ofPrefixes] }
}

/** Reads the result of `countedBy`, when terms may have other numbers. */
export function statisticsFrom(
  { chunks, totalLength, counts }: KeywordStatistics,
  terms: TermNumbers,
  prefixed: ReadonlyMap<string, unknown>,
): ScopeStatistics {
  return {
    chunks,
    totalLength,
    counts: new Map([...terms.values()].map((term, i) => [term, counts[i]!])),
    prefixCounts: new Map([...prefixed.keys()].map((prefix, i) => [prefix, counts[terms.size + i]!])),
  }
}

/** The numbers of a query's terms by their texts, 0 for unknown terms. */
export type TermNumbers = ReadonlyMap<string, number>

/** Must be called inside the snapshot, because an index that is cleared assigns new numbers. */
export function findTerms(query: KeywordQuery, dictionary: TermDictionary): TermNumbers {
  const terms = [...query.clauses, ...query.boosts].flatMap((clause) => [
    ...groupsOf(clause).flat(),
    ...expansionsOf(clause).flatMap((match) => ('terms' in match ? match.terms : [])),
  ])
  return new Map([...new Set(terms)].map((term) => [term, dictionary.find(term)]))
}

/** The prefixes of a query. */
export function prefixesOf(query: KeywordQuery): ReadonlySet<string> {
  const matches = [...query.clauses, ...query.boosts].flatMap(expansionsOf)
  return new Set(matches.flatMap((match) => ('prefix' in match ? match.prefix : [])))
}

const expansionsOf = (clause: Clause): readonly TermExpansion[] =>
  clause.type === 'word' ? (clause.expansions ?? []) : []

function groupsOf(clause: Clause): readonly TermGroup[] {
  return clause.type === 'word' ? [clause.group] : clause.groups
}

export function planKeyword(
  query: KeywordQuery,
  numbers: TermNumbers,
  prefixed: ReadonlyMap<string, PrefixLists>,
  statistics: ScopeStatistics,
  { titleWeight, includeNonCurrent }: { readonly titleWeight: number; readonly includeNonCurrent: boolean },
): KeywordPlan {
  // A term without a count occurs only outside the scope, or only in versions that are not current, which a request may
  // include.
  const occurs = (term: number) => term !== 0 && (includeNonCurrent || statistics.counts.get(term)! > 0)
  const known = (group: TermGroup) => [...new Set(group.map((term) => numbers.get(term)!))].filter(occurs)
  const weightOf = (term: number) => weightOfCount(statistics.counts.get(term)!)
  const weightOfCount = (count: number) => maxScoreOfIdf(idfOf(statistics.chunks, count))

  const planWord = (group: readonly number[], expansions: readonly TermExpansion[], weight: number) => {
    const counted = group.filter((term) => statistics.counts.get(term)! > 0)
    const weightMax = Math.min(...counted.map(weightOf))
    const terms = new Map(group.map((term) => [term, weight * weightOf(term)]))
    const prefixes: PlannedPrefix[] = []
    for (const match of expansions) {
      const factor = weight * (match.factor > 0 && Number.isFinite(match.factor) ? match.factor : 1)
      if ('terms' in match) {
        for (const term of known(match.terms)) {
          terms.set(term, Math.max(terms.get(term) ?? 0, factor * Math.min(weightMax, weightOf(term))))
        }
        continue
      }
      const count = statistics.prefixCounts.get(match.prefix)!
      if (count === 0 && !includeNonCurrent) continue
      const lists = prefixed.get(match.prefix)!
      prefixes.push({ lists, weight: factor * Math.min(weightMax, weightOfCount(count)) })
    }
    const planned = [...terms].map(([term, own]) => ({ term, weight: own }))
    return planned.length + prefixes.length === 0 ? null : { type: 'word' as const, terms: planned, prefixes }
  }

  const plan = (clause: Clause, number: number): PlannedClause | null => {
    const groups = groupsOf(clause).map(known)
    const weight = clause.weight > 0 && Number.isFinite(clause.weight) ? clause.weight : 1
    const [first] = groups
    if (groups.length === 1 && first !== undefined) {
      const word = planWord(first, expansionsOf(clause), weight)
      return word && { ...word, number }
    }
    if (groups.length === 0 || groups.some((group) => group.length === 0)) return null
    return {
      type: 'phrase',
      number,
      groups,
      weight: weight * groups.reduce((sum, group) => sum + Math.min(...group.map(weightOf)), 0),
    }
  }
  const all = query.clauses.map(plan)
  const planned = (kind: Clause['kind']) => all.filter((_, i) => query.clauses[i]!.kind === kind)
  const present = (clauses: readonly (PlannedClause | null)[]) => clauses.filter((clause) => clause !== null)

  const must = planned('must')
  const any = present(planned('any'))
  return {
    must: present(must),
    any,
    mustNot: present(planned('mustNot')),
    boosts: present(query.boosts.map((boost, i) => plan(boost, all.length + i))),
    clauses: all.length + query.boosts.length,
    empty: must.includes(null) || (must.length === 0 && any.length === 0),
    titleWeight,
    ...lengthNorm(statistics.chunks, statistics.totalLength),
  }
}
