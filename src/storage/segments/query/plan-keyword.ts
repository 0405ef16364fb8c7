import type { KeywordStatistics } from '../../../search/keyword-statistics.ts'
import type { Clause, KeywordQuery, LooseMatch, TermGroup } from '../../../text/types.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { BegunLists } from './begun-chunks.ts'

/**
 * BM25 as decided for every index: k1 1.2, b 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)) over what the scope may search.
 * Frequencies of title and body are added, the title's times `titleWeight`; the length is that of both together, each as
 * far as it may be searched.
 */
const k1 = 1.2
const b = 0.75

export interface PlannedTerm {
  readonly term: number
  /** idf times (k1 + 1) times the clause's weight: the whole factor before the saturation of the frequency. */
  readonly weight: number
}

/** All terms that begin in one way, as one. */
export interface PlannedBeginning {
  readonly lists: BegunLists
  readonly weight: number
}

export type PlannedAlternative = PlannedTerm | PlannedBeginning

interface Planned {
  /** Its place among the clauses and then the boosts of the query. */
  readonly number: number
}

export interface PlannedWord extends Planned {
  readonly type: 'word'
  /** Alternatives that occur at all; the score is that of the best, whether term or beginning. */
  readonly terms: readonly PlannedTerm[]
  readonly beginnings: readonly PlannedBeginning[]
}

export const alternativesOf = ({ terms, beginnings }: PlannedWord): readonly PlannedAlternative[] => [
  ...terms,
  ...beginnings,
]

export interface PlannedPhrase extends Planned {
  readonly type: 'phrase'
  readonly groups: readonly (readonly number[])[]
  /**
   * The sum of the groups' idf, each that of its most frequent alternative. Counting the phrase itself would cost a check
   * of every candidate before the first is scored, and would order a lone phrase no differently.
   */
  readonly weight: number
}

export type PlannedClause = PlannedWord | PlannedPhrase

export interface KeywordPlan {
  readonly must: readonly PlannedClause[]
  readonly any: readonly PlannedClause[]
  readonly mustNot: readonly PlannedClause[]
  /** Added to the score of what the others matched. */
  readonly boosts: readonly PlannedClause[]
  /** Of the query, boosts included, whether they occur or not. */
  readonly clauses: number
  /** Nothing can match: no positive clause, or a required one whose terms do not occur. */
  readonly empty: boolean
  readonly titleWeight: number
  /** The length part of BM25 for a chunk of length l is `normBase + normStep * l`. */
  readonly normBase: number
  readonly normStep: number
}

/**
 * What BM25 compares a chunk with: all that the scope may search, in current versions, whatever else a request filters by.
 * What lies outside has no say, so that nobody can tell by a score what it is; and a request's own filters have none, so
 * that a document scores the same on every page and in every view of it.
 */
export interface ScopeStatistics {
  readonly chunks: number
  /** Of the fields that may be searched, over those chunks. */
  readonly totalLength: number
  /** By term number: how many of those chunks hold the term in a field that may be searched. */
  readonly counts: ReadonlyMap<number, number>
  /** By beginning: how many hold a term that begins so. */
  readonly begunCounts: ReadonlyMap<string, number>
}

export const noStatistics: ScopeStatistics = { chunks: 0, totalLength: 0, counts: new Map(), begunCounts: new Map() }

/** In the order of the terms and the beginnings that a query asks for. */
export function countedBy(
  { chunks, totalLength, counts, begunCounts }: ScopeStatistics,
  terms: TermNumbers,
  begun: ReadonlyMap<string, unknown>,
): KeywordStatistics {
  const ofTerms = [...terms.values()].map((term) => counts.get(term) ?? 0)
  const ofBeginnings = [...begun.keys()].map((beginning) => begunCounts.get(beginning) ?? 0)
  return { chunks, totalLength, counts: [...ofTerms, ...ofBeginnings] }
}

/** What `countedBy` gave. Terms may have other numbers by now. */
export function statisticsFrom(
  { chunks, totalLength, counts }: KeywordStatistics,
  terms: TermNumbers,
  begun: ReadonlyMap<string, unknown>,
): ScopeStatistics {
  return {
    chunks,
    totalLength,
    counts: new Map([...terms.values()].map((term, i) => [term, counts[i]!])),
    begunCounts: new Map([...begun.keys()].map((beginning, i) => [beginning, counts[terms.size + i]!])),
  }
}

/** The numbers of a query's terms by their texts, 0 for those that are unknown. */
export type TermNumbers = ReadonlyMap<string, number>

/** To be read inside the snapshot: an index that is cleared gives its numbers anew. */
export function findTerms(query: KeywordQuery, dictionary: TermDictionary): TermNumbers {
  const terms = [...query.clauses, ...query.boosts].flatMap((clause) => [
    ...groupsOf(clause).flat(),
    ...looseOf(clause).flatMap((match) => ('terms' in match ? match.terms : [])),
  ])
  return new Map([...new Set(terms)].map((term) => [term, dictionary.find(term)]))
}

/** The beginnings that a query asks for. */
export function beginningsOf(query: KeywordQuery): ReadonlySet<string> {
  const matches = [...query.clauses, ...query.boosts].flatMap(looseOf)
  return new Set(matches.flatMap((match) => ('beginning' in match ? match.beginning : [])))
}

const looseOf = (clause: Clause): readonly LooseMatch[] => (clause.type === 'word' ? (clause.loose ?? []) : [])

function groupsOf(clause: Clause): readonly TermGroup[] {
  return clause.type === 'word' ? [clause.group] : clause.groups
}

export function planKeyword(
  query: KeywordQuery,
  numbers: TermNumbers,
  begun: ReadonlyMap<string, BegunLists>,
  statistics: ScopeStatistics,
  { titleWeight, includeNonCurrent }: { readonly titleWeight: number; readonly includeNonCurrent: boolean },
): KeywordPlan {
  // What the scope has in older versions only is not counted, but may be found. Anything else without a count is elsewhere.
  const occurs = (term: number) => term !== 0 && (includeNonCurrent || statistics.counts.get(term)! > 0)
  const known = (group: TermGroup) => [...new Set(group.map((term) => numbers.get(term)!))].filter(occurs)
  const weightOf = (term: number) => weightOfCount(statistics.counts.get(term)!)
  const weightOfCount = (count: number) => Math.log(1 + (statistics.chunks - count + 0.5) / (count + 0.5)) * (k1 + 1)

  const planWord = (group: readonly number[], loose: readonly LooseMatch[], weight: number) => {
    const counted = group.filter((term) => statistics.counts.get(term)! > 0)
    const most = Math.min(...counted.map(weightOf))
    const terms = new Map(group.map((term) => [term, weight * weightOf(term)]))
    const beginnings: PlannedBeginning[] = []
    for (const match of loose) {
      const factor = weight * (match.factor > 0 && Number.isFinite(match.factor) ? match.factor : 1)
      if ('terms' in match) {
        for (const term of known(match.terms)) {
          terms.set(term, Math.max(terms.get(term) ?? 0, factor * Math.min(most, weightOf(term))))
        }
        continue
      }
      const count = statistics.begunCounts.get(match.beginning)!
      if (count === 0 && !includeNonCurrent) continue
      const lists = begun.get(match.beginning)!
      beginnings.push({ lists, weight: factor * Math.min(most, weightOfCount(count)) })
    }
    const planned = [...terms].map(([term, own]) => ({ term, weight: own }))
    return planned.length + beginnings.length === 0 ? null : { type: 'word' as const, terms: planned, beginnings }
  }

  const plan = (clause: Clause, number: number): PlannedClause | null => {
    const groups = groupsOf(clause).map(known)
    const weight = clause.weight > 0 && Number.isFinite(clause.weight) ? clause.weight : 1
    const [first] = groups
    if (groups.length === 1 && first !== undefined) {
      const word = planWord(first, looseOf(clause), weight)
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
  const averageLength = statistics.chunks === 0 ? 1 : Math.max(statistics.totalLength / statistics.chunks, 1e-9)
  return {
    must: present(must),
    any,
    mustNot: present(planned('mustNot')),
    boosts: present(query.boosts.map((boost, i) => plan(boost, all.length + i))),
    clauses: all.length + query.boosts.length,
    empty: must.includes(null) || (must.length === 0 && any.length === 0),
    titleWeight,
    normBase: k1 * (1 - b),
    normStep: (k1 * b) / averageLength,
  }
}
