/**
 * A field (title or body) as the index stores it: the arrays are parallel, positions ascend, several terms may share one.
 * The first term of a position is the word that stands there, case and accents apart, with `=` before it where no query
 * asks for it as it is: what beginnings and typing errors are compared with.
 */
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

/** The terms of a query in a text, by the rules of a language; null where that was guessed, by this text alone. */
export type LocatedText = {
  readonly language: string | null
  readonly field: LocatedField
}

/**
 * One query word. Documents are stemmed by their own language, so a word has one term for each way it may have been
 * indexed; a document matches the group when it holds any of them. Its score is that of its best alternative: a sum
 * would count a word twice that was indexed in two forms (pooled nDCG@10 .938 for the sum, .940 for the best).
 */
export type TermGroup = readonly string[]

/** `any` clauses are OR-ed and ranked; every `must` clause has to match (and is ranked); no `mustNot` clause may. */
export type ClauseKind = 'any' | 'must' | 'mustNot'

/**
 * What a word is found by besides its own terms: others, or all terms that begin so, the `=` of a word apart. It counts
 * for `factor` of what it would count for by itself, and is taken for no rarer than the word where the word occurs.
 * Beginnings are as one term that stands once in each field that has one.
 */
export type LooseMatch =
  | { readonly terms: TermGroup; readonly factor: number }
  | { readonly beginning: string; readonly factor: number }

type AnyClause = {
  kind: ClauseKind
  /** Multiplies the score: a word that stands twice in the query is one clause of weight 2. */
  weight: number
  /** What of the query it is, to speak of it. */
  typed?: string
}

export type WordClause = AnyClause & {
  type: 'word'
  group: TermGroup
  loose?: readonly LooseMatch[]
  /** The word, case and accents apart, where there may be a typing error in it: not in quotes, nor with digits. */
  correctable?: string
}

/** Matches where the groups stand at consecutive positions of one field, in this order. */
export type PhraseClause = AnyClause & { type: 'phrase'; groups: readonly TermGroup[] }

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
