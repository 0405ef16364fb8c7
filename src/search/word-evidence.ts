import type { KeywordQuery } from '../text/types.ts'
import type { ChunkScore } from './search-index.ts'

/** So many words of the query in one document, or this share of them, say all that words can say. */
const wordsEnough = 4
const shareEnough = 0.4

/**
 * How much the words of a query are worth, 0 to 1, by how many of them the best document by words has. With a few of many
 * it is the best of a poor choice: the question was put in other words than the texts, or in another language. Null where
 * no document has any; where its parts are not known, nothing speaks against the words.
 */
export function wordEvidence({ clauses }: KeywordQuery, best: Pick<ChunkScore, 'parts'> | null): number {
  if (best === null) return 0
  const { parts } = best
  if (parts === undefined) return 1
  const asked = wordsOf(clauses)
  const found = wordsOf(clauses.filter((_, i) => (parts[i] ?? 0) > 0))
  return asked === 0 ? 0 : Math.min(1, Math.max(found / wordsEnough, found / asked / shareEnough))
}

/** Whether so few words are asked for that any one of them says all: then what is found by words needs no parts. */
export function isOneWordEnough({ clauses }: KeywordQuery): boolean {
  const asked = wordsOf(clauses)
  return asked > 0 && 1 / asked >= shareEnough
}

const wordsOf = (clauses: KeywordQuery['clauses']): number =>
  clauses.reduce((sum, clause) => {
    if (clause.kind === 'mustNot') return sum
    return sum + (clause.type === 'word' ? 1 : clause.groups.length)
  }, 0)
