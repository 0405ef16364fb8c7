/** Limits of searches, used by schemas, code and documentation. */
export const searchLimits = {
  resultsDefault: 20,
  resultsMax: 100,
  queryCharactersMax: 1000,
  /**
   * Characters including leading and trailing spaces. A request body cannot hold more, so callers only run into
   * `queryCharactersMax`, which applies to the trimmed text.
   */
  queryUntrimmedMax: 2 ** 20,
  vectorDimensionsMax: 8192,
  /** Characters of a result's `body`. */
  summaryCharactersMax: 500,
  highlightsMax: 3,
  /** Corrections of a mistyped word: the nearest and most frequent words of the texts. */
  correctionsMax: 10,
  /** Chunks of one document that `matched_chunks` lists. */
  chunksPerDocumentMax: 5,
  /**
   * Chunks that vector mode requests. It first requests a few for each result, because several may belong to one
   * document. If these come from too few documents, it requests the maximum. The results are the same as with the
   * maximum from the start.
   */
  vectorCandidatesPerResult: 3,
  vectorCandidatesMax: 200,
  /**
   * Candidates of each branch in hybrid mode: documents by keywords, chunks by vector. The number does not depend on
   * the limit of the request, so that scores and order do not either. A long page adds the next candidates, up to the
   * maximum. Between 32 and 100 candidates nDCG@10 differs by .001 on cacm and cranfield (docs/ranking.md).
   */
  hybridCandidates: 50,
  hybridCandidatesMax: 100,
  /**
   * If the candidate chunks come from fewer documents than this, more chunks are added, up to the maximum. Otherwise
   * long documents would leave a page half empty. A page with more results than this is a long page.
   */
  hybridDocumentsMin: 25,
  /**
   * Candidates that are reranked word by word: the best by fused score, the best by keywords alone, and those whose
   * title equals the query, so that an exact hit is reranked regardless of its score.
   */
  rerankMax: 24,
  rerankByWordsMax: 8,
  rerankByTitleMax: 8,
  /** The most candidates that are sent to the cross-encoder, if there is one. It runs its model once for each. */
  crossEncoderMax: 30,
  crossEncoderAnswerBytesMax: 1_048_576,
  facetValuesDefault: 10,
  facetValuesMax: 100,
  valuesDefault: 50,
  valuesMax: 100,
  /**
   * The time limits of the vector branch, including the embedding, and of keyword requests. `SearchDeadlines` computes
   * the deadlines.
   */
  vectorWaitMs: 5000,
  keywordWaitMs: 3000,
} as const

/**
 * How long an acknowledged document may wait for the index before searches return a warning. A healthy index is a
 * second or two behind. During an import it is up to 20 s behind, because the import is throttled (`ingest/pace.ts`).
 * If the index accepts nothing for 10 s while documents wait, it has a fault: a lost node is replaced, and a failed
 * batch is retried, in less time.
 */
export const lagLimits = { standingStillMs: 10_000, lateMs: 30_000 } as const
