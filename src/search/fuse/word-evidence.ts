import type { KeywordQuery } from '../../text/types.ts'
import type { ChunkScore } from '../search-index.ts'

/** A document that contains this many words of the query, or this share of them, is full evidence. */
const wordsEnough = 4
const shareEnough = 0.4

/**
 * How much the words of a query are worth, 0 to 1, judged by how many of them the best document of the keyword branch
 * contains. If even the best one contains few of them, the texts use other words than the query, or another language.
 * Returns 0 without a document, and 1 if its parts are unknown.
 */
export function wordEvidence({ clauses }: KeywordQuery, best: Pick<ChunkScore, 'parts'> | null): number {
  if (best === null) return 0
  const { parts } = best
  if (parts === undefined) return 1
  const total = wordsOf(clauses)
  const found = wordsOf(clauses.filter((_, i) => (parts[i] ?? 0) > 0))
  return total === 0 ? 0 : Math.min(1, Math.max(found / wordsEnough, found / total / shareEnough))
}

/**
 * Whether the query has so few words that any one of them is full evidence. Then the parts of the best document are not
 * needed.
 */
export function isOneWordEnough({ clauses }: KeywordQuery): boolean {
  const total = wordsOf(clauses)
  return total > 0 && 1 / total >= shareEnough
}

const wordsOf = (clauses: KeywordQuery['clauses']): number =>
  clauses.reduce((sum, clause) => {
    if (clause.kind === 'mustNot') return sum
    return sum + (clause.type === 'word' ? 1 : clause.groups.length)
  }, 0)
