import { bm25, maxScoreOfIdf, titleWeight } from '../../text/bm25.ts'
import type { Clause, KeywordQuery } from '../../text/types.ts'
import { decodeField, encodedPrefixes, encodeTerm } from './encode-terms.ts'
import { alternativesOf, isPhrase, phraseIdf, weightOf } from './keyword-query.ts'
import type { VisibleClass } from './scope-query.ts'
import { groupsOf, type ScopeStatistics } from './scope-statistics.ts'

/** A chunk's encoded texts, with their lengths. */
export interface ExplainedChunk {
  readonly title: string
  readonly title_length: number
  readonly body: string
  readonly body_length: number
}

/**
 * Computes how much each clause of a query, and then each boost, adds to the score of a chunk. Uses the formula of
 * `keyword-query.ts`, but in doubles, and scales the parts so that their sum is the score of the cluster.
 */
export function explainChunk(
  { clauses, boosts }: KeywordQuery,
  chunk: ExplainedChunk,
  one: Pick<VisibleClass, 'title' | 'body'>,
  statistics: ScopeStatistics,
  score: number,
): number[] {
  const fields = [
    ...(one.title ? [{ positions: decodeField(chunk.title), weight: titleWeight }] : []),
    ...(one.body ? [{ positions: decodeField(chunk.body), weight: 1 }] : []),
  ]
  const length = (one.title ? chunk.title_length : 0) + (one.body ? chunk.body_length : 0)
  const bm25Of = (idf: number, count: (positions: Positions) => number): number => {
    const frequency = fields.reduce((sum, { positions, weight }) => sum + weight * count(positions), 0)
    return bm25(maxScoreOfIdf(idf), frequency, length, statistics.norm)
  }
  const partOf = (clause: Clause): number => {
    if (isPhrase(clause)) {
      return weightOf(clause) * bm25Of(phraseIdf(clause, statistics), (positions) => countPhrase(positions, clause))
    }
    const alternatives = alternativesOf(clause, statistics).map(({ of, idf }) =>
      bm25Of(idf, (positions) => ('term' in of ? countTerm(positions, of.term) : countPrefix(positions, of.prefix))),
    )
    return weightOf(clause) * Math.max(0, ...alternatives)
  }
  const parts = [...clauses.map((clause) => (clause.kind === 'mustNot' ? 0 : partOf(clause))), ...boosts.map(partOf)]
  const sum = parts.reduce((total, part) => total + part, 0)
  return sum === 0 ? parts : parts.map((part) => (part * score) / sum)
}

type Positions = ReturnType<typeof decodeField>

function countTerm(positions: Positions, term: string): number {
  const encoded = encodeTerm(term)
  return positions.flat().filter((one) => one === encoded).length
}

function countPrefix(positions: Positions, prefix: string): number {
  const prefixes = encodedPrefixes(prefix)
  return positions.flat().some((term) => prefixes.some((one) => term.startsWith(one))) ? 1 : 0
}

function countPhrase(positions: Positions, clause: Clause): number {
  const groups = groupsOf(clause).map((group) => group.map(encodeTerm))
  if (groups.length === 0) return 0
  return positions.filter((_, i) =>
    groups.every((group, j) => (positions[i + j] ?? []).some((term) => group.includes(term))),
  ).length
}
