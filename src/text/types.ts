/**
 * A field (title or body) as the index stores it. The arrays are parallel, positions ascend, and several terms may
 * share one. The first term of a position is the word itself, without case and accents, prefixed with `=` if it is kept
 * only for prefix and typo matching.
 */
export type AnalysedField = {
  terms: string[]
  positions: number[]
  /**
   * The field's length for BM25: its positions without those of stop words, which queries do not search for either
   * (nDCG@10 against all positions: cranfield .386 and .383, cacm .504 and .504, XQuAD within .001).
   */
  length: number
}

/** The same, with the UTF-16 range of each term in the original text. */
export type LocatedField = AnalysedField & {
  starts: number[]
  ends: number[]
}

/** The terms of a query in a text, by the rules of a language; null if the language was guessed from this text. */
export type LocatedText = {
  readonly language: string | null
  readonly field: LocatedField
}

/**
 * One query word. Documents are stemmed in their own languages, so a word has one term for each way in which it may be
 * indexed. A document matches the group if it has any of them. The best alternative gives the score: a sum would count a
 * word twice that is indexed in two forms (pooled nDCG@10 .938 for the sum, .940 for the best).
 */
export type TermGroup = readonly string[]

/** `any` clauses are OR-ed and ranked. Every `must` clause has to match, and is ranked. No `mustNot` clause may match. */
export type ClauseKind = 'any' | 'must' | 'mustNot'

/**
 * Finds a word by more than its own terms: by other terms, or by all terms with a prefix (ignoring the `=` of a word).
 * It scores `factor` of the word's own score. Its idf is capped at that of the word, if the word occurs. A prefix is
 * scored like one term that occurs once in each field that has a match.
 */
export type TermExpansion =
  | { readonly terms: TermGroup; readonly factor: number }
  | { readonly prefix: string; readonly factor: number }

type AnyClause = {
  kind: ClauseKind
  /** Multiplies the score: a word that occurs twice in the query is one clause of weight 2. */
  weight: number
  /** The text of the clause in the query, for messages. */
  typed?: string
}

export type WordClause = AnyClause & {
  type: 'word'
  group: TermGroup
  expansions?: readonly TermExpansion[]
  /** The word without case and accents, if it may have a typing error: not in quotes, and without digits. */
  correctable?: string
}

/** Matches if the groups are at consecutive positions of one field, in this order. */
export type PhraseClause = AnyClause & { type: 'phrase'; groups: readonly TermGroup[] }

export type Clause = WordClause | PhraseClause

export type KeywordQuery = {
  /**
   * Without any `any` or `must` clause (only punctuation or negatives) the query matches nothing. With a `must` clause,
   * `any` clauses only add to the score.
   */
  clauses: readonly Clause[]
  /**
   * Only for ranking: neighbouring words of the query as short phrases, and the words of its phrases without `+` or
   * `-`. They add to the score of documents that `clauses` matched and match nothing themselves. An index may ignore
   * them.
   */
  boosts: readonly Clause[]
}
