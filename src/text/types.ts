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
 * indexed; a document matches the group when it holds any of them.
 */
export type TermGroup = readonly string[]

/** `any` clauses are OR-ed and ranked; every `must` clause has to match (and is ranked); no `mustNot` clause may. */
export type ClauseKind = 'any' | 'must' | 'mustNot'

export type WordClause = { type: 'word'; kind: ClauseKind; group: TermGroup }

/** Matches where the groups stand at consecutive positions of one field, in this order. */
export type PhraseClause = { type: 'phrase'; kind: ClauseKind; groups: readonly TermGroup[] }

export type Clause = WordClause | PhraseClause

/**
 * With no `any` and no `must` clause (nothing but punctuation, or only negatives) a query matches nothing.
 * When a `must` clause is there, `any` clauses only add to the score.
 */
export type KeywordQuery = { clauses: readonly Clause[] }
