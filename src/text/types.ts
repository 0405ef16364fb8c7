/** A field (title or body) as the index stores it: the arrays are parallel, positions ascend, several terms may share one. */
export type AnalysedField = {
  terms: string[]
  positions: number[]
  /**
   * The field's length for BM25: the positions, less those of stop words, which a query does not ask for either
   * (nDCG@10 against all positions: cranfield .386 and .383, cacm .504 and .504, XQuAD within .001).
   */
  length: number
}

/** The same, with the UTF-16 range of the original text that each term came from. */
export type LocatedField = AnalysedField & {
  starts: number[]
  ends: number[]
}

/**
 * One query word. Documents are stemmed by their own language, so a word has one term for each way it may have been
 * indexed; a document matches the group when it holds any of them. Its score is that of its best alternative: a sum
 * would count a word twice that was indexed in two forms (pooled nDCG@10 .938 for the sum, .940 for the best).
 */
export type TermGroup = readonly string[]

/** `any` clauses are OR-ed and ranked; every `must` clause has to match (and is ranked); no `mustNot` clause may. */
export type ClauseKind = 'any' | 'must' | 'mustNot'

/** `weight` multiplies the score: a word that stands twice in the query is one clause of weight 2. */
type WordClause = { type: 'word'; kind: ClauseKind; weight: number; group: TermGroup }

/** Matches where the groups stand at consecutive positions of one field, in this order. */
export type PhraseClause = { type: 'phrase'; kind: ClauseKind; weight: number; groups: readonly TermGroup[] }

export type Clause = WordClause | PhraseClause

export type KeywordQuery = {
  /**
   * With no `any` and no `must` clause (nothing but punctuation, or only negatives) the query matches nothing.
   * When a `must` clause is there, `any` clauses only add to the score.
   */
  clauses: readonly Clause[]
  /**
   * For ranking alone: neighbouring words of the query as short phrases, and the words of its bare phrases. They add
   * to the score of what `clauses` matched and match nothing themselves; an index may leave them out.
   */
  boosts: readonly Clause[]
}
