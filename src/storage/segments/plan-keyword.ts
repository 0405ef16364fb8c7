import type { Clause, KeywordQuery, TermGroup } from '../../text/types.ts'
import type { TermDictionary } from './term-dictionary.ts'

/**
 * BM25 as decided for every index: k1 1.2, b 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5)) over all searchable chunks.
 * Frequencies of title and body are added, the title's times `titleWeight`; the length is that of both together.
 */
const k1 = 1.2
const b = 0.75

export interface PlannedTerm {
  readonly term: number
  /** idf times (k1 + 1) times the clause's weight: the whole factor before the saturation of the frequency. */
  readonly weight: number
}

export interface PlannedWord {
  readonly type: 'word'
  /** Alternatives that occur at all; the score is that of the best. */
  readonly terms: readonly PlannedTerm[]
}

export interface PlannedPhrase {
  readonly type: 'phrase'
  readonly groups: readonly (readonly number[])[]
  /**
   * The sum of the groups' idf, each that of its most frequent alternative. Counting the phrase itself over the whole
   * index would cost a check of every candidate outside the scope too, and would order a lone phrase no differently.
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
  /** Nothing can match: no positive clause, or a required one whose terms do not occur. */
  readonly empty: boolean
  readonly titleWeight: number
  /** The length part of BM25 for a chunk of length l is `normBase + normStep * l`. */
  readonly normBase: number
  readonly normStep: number
}

export interface CollectionStatistics {
  readonly chunks: number
  readonly totalLength: number
}

/** What a query needs of the dictionary; read inside the snapshot, so that counts and statistics belong together. */
export interface TermCounts {
  readonly numbers: ReadonlyMap<string, number>
  readonly counts: ReadonlyMap<string, number>
}

export function readTermCounts(query: KeywordQuery, dictionary: TermDictionary): TermCounts {
  const numbers = new Map<string, number>()
  const counts = new Map<string, number>()
  for (const clause of [...query.clauses, ...query.boosts]) {
    for (const group of groupsOf(clause)) {
      for (const term of group) {
        if (numbers.has(term)) continue
        const number = dictionary.find(term)
        numbers.set(term, number)
        counts.set(term, number === 0 ? 0 : dictionary.counts[number]!)
      }
    }
  }
  return { numbers, counts }
}

function groupsOf(clause: Clause): readonly TermGroup[] {
  return clause.type === 'word' ? [clause.group] : clause.groups
}

export function planKeyword(
  query: KeywordQuery,
  { numbers, counts }: TermCounts,
  statistics: CollectionStatistics,
  titleWeight: number,
): KeywordPlan {
  const known = (group: TermGroup) => [...new Set(group)].filter((term) => counts.get(term)! > 0)
  const weightOf = (count: number) => Math.log(1 + (statistics.chunks - count + 0.5) / (count + 0.5)) * (k1 + 1)

  const plan = (clause: Clause): PlannedClause | null => {
    const groups = groupsOf(clause).map(known)
    const weight = clause.weight > 0 && Number.isFinite(clause.weight) ? clause.weight : 1
    if (groups.length === 0 || groups.some((group) => group.length === 0)) return null
    if (groups.length === 1) {
      return {
        type: 'word',
        terms: groups[0]!.map((term) => ({ term: numbers.get(term)!, weight: weight * weightOf(counts.get(term)!) })),
      }
    }
    return {
      type: 'phrase',
      groups: groups.map((group) => group.map((term) => numbers.get(term)!)),
      weight:
        weight * groups.reduce((sum, group) => sum + Math.min(...group.map((term) => weightOf(counts.get(term)!))), 0),
    }
  }
  const planned = (kind: Clause['kind']) => query.clauses.filter((clause) => clause.kind === kind).map(plan)
  const present = (clauses: readonly (PlannedClause | null)[]) => clauses.filter((clause) => clause !== null)

  const must = planned('must')
  const any = present(planned('any'))
  const averageLength = statistics.chunks === 0 ? 1 : Math.max(statistics.totalLength / statistics.chunks, 1e-9)
  return {
    must: present(must),
    any,
    mustNot: present(planned('mustNot')),
    boosts: present(query.boosts.map(plan)),
    empty: must.includes(null) || (must.length === 0 && any.length === 0),
    titleWeight,
    normBase: k1 * (1 - b),
    normStep: (k1 * b) / averageLength,
  }
}
