/** A field (title or body) as the index stores it: the arrays are parallel, positions ascend, several terms may share one. */
export type AnalysedField = {
  terms: string[]
  positions: number[]
  /** The number of positions: the field's length for BM25. */
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
export type WordClause = { type: 'word'; kind: ClauseKind; weight: number; group: TermGroup }

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
   * Neighbouring words of the query, for ranking alone: a document that holds them side by side scores more. They
   * match nothing that `clauses` does not, and an index may leave them out.
   */
  pairs: readonly PhraseClause[]
}
