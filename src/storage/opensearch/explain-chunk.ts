import { bm25, titleWeight, weightOfIdf } from '../../text/bm25.ts'
import type { Clause, KeywordQuery } from '../../text/types.ts'
import { decodeField, encodedPrefixes, encodeTerm } from './encode-terms.ts'
import { alternativesOf, isPhrase, phraseIdf, weightOf } from './keyword-query.ts'
import type { VisibleClass } from './scope-query.ts'
import { groupsOf, type ScopeStatistics } from './scope-statistics.ts'

/** A chunk's texts as they were sent, with their lengths. */
export interface ExplainedChunk {
  readonly title: string
  readonly title_length: number
  readonly body: string
  readonly body_length: number
}

/**
 * The part that each clause of a query, and then each boost, adds to the score of a chunk. Computed by the cluster's
 * rule, but in doubles instead of floats, and then scaled to the cluster's sum.
 */
export function explainChunk(
  { clauses, boosts }: KeywordQuery,
  chunk: ExplainedChunk,
  one: Pick<VisibleClass, 'title' | 'body'>,
  statistics: ScopeStatistics,
  score: number,
): number[] {
  const fields = [
    ...(one.title ? [{ places: decodeField(chunk.title), weight: titleWeight }] : []),
    ...(one.body ? [{ places: decodeField(chunk.body), weight: 1 }] : []),
  ]
  const length = (one.title ? chunk.title_length : 0) + (one.body ? chunk.body_length : 0)
  const saturated = (idf: number, count: (places: Places) => number): number => {
    const frequency = fields.reduce((sum, { places, weight }) => sum + weight * count(places), 0)
    return bm25(weightOfIdf(idf), frequency, length, statistics.norm)
  }
  const partOf = (clause: Clause): number => {
    if (isPhrase(clause)) {
      return weightOf(clause) * saturated(phraseIdf(clause, statistics), (places) => countPhrase(places, clause))
    }
    const alternatives = alternativesOf(clause, statistics).map(({ of, idf }) =>
      saturated(idf, (places) => ('term' in of ? countTerm(places, of.term) : countOfPrefix(places, of.beginning))),
    )
    return weightOf(clause) * Math.max(0, ...alternatives)
  }
  const parts = [...clauses.map((clause) => (clause.kind === 'mustNot' ? 0 : partOf(clause))), ...boosts.map(partOf)]
  const sum = parts.reduce((total, part) => total + part, 0)
  return sum === 0 ? parts : parts.map((part) => (part * score) / sum)
}

type Places = ReturnType<typeof decodeField>

function countTerm(places: Places, term: string): number {
  const encoded = encodeTerm(term)
  return places.flat().filter((one) => one === encoded).length
}

function countOfPrefix(places: Places, beginning: string): number {
  const beginnings = encodedPrefixes(beginning)
  return places.flat().some((term) => beginnings.some((one) => term.startsWith(one))) ? 1 : 0
}

function countPhrase(places: Places, clause: Clause): number {
  const groups = groupsOf(clause).map((group) => group.map(encodeTerm))
  if (groups.length === 0) return 0
  return places.filter((_, i) => groups.every((group, j) => (places[i + j] ?? []).some((term) => group.includes(term))))
    .length
}
