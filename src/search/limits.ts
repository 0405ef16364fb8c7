/** Limits of searches, used by schemas, code and documentation. */
export const searchLimits = {
  resultsDefault: 20,
  resultsMax: 100,
  queryCharactersMax: 1000,
  /**
   * Characters with the surrounding spaces. More than a body can hold, so that callers only meet the limit of the
   * trimmed text.
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
   * Chunks that vector mode compares. It starts with so many for each requested result, because several may belong to
   * one document, and asks for the maximum if these come from too few documents. The answer is the same as with the
   * maximum from the start.
   */
  vectorCandidatesPerResult: 3,
  vectorCandidatesMax: 200,
  /**
   * Candidates of each branch in hybrid mode, in chunks for the vector branch. The number does not depend on the limit
   * of the request, so that scores and order do not either. A long page continues with the next candidates, up to the
   * maximum. Between 32 and 100 candidates nDCG@10 differs by .001 on cacm and cranfield (docs/ranking.md).
   */
  hybridCandidates: 50,
  hybridCandidatesMax: 100,
  /**
   * If the candidate chunks come from fewer documents, more are taken up to the maximum: long documents would leave a
   * page half empty. A page with more results than this is a long page.
   */
  hybridDocumentsMin: 25,
  /**
   * Candidates that are reranked word by word: the best by fused score, the best by keywords alone, and those whose
   * title is the query, so that an exact hit is reranked regardless of its score. Each costs a reader of the store some
   * 0.035 ms.
   */
  rerankMax: 24,
  rerankByWordsMax: 8,
  rerankByTitleMax: 8,
  /**
   * The number of best reranked candidates that are sent to a cross-encoder, if there is one: it runs a model for each.
   */
  crossEncoderMax: 30,
  crossEncoderAnswerBytesMax: 1_048_576,
  facetValuesDefault: 10,
  facetValuesMax: 100,
  valuesDefault: 50,
  valuesMax: 100,
  /**
   * Time limit of the vector branch, embedding included, and of keyword requests: `SearchDeadlines` has all deadlines.
   */
  vectorWaitMs: 5000,
  keywordWaitMs: 3000,
} as const

/**
 * How long an acknowledged document may wait for the index before searches return a warning. A working index is late by
 * a second or two, and by up to 20 s during an import, which is slowed down to that (`ingest/pace.ts`). An index that
 * takes in nothing while documents wait has a fault: a lost node is replaced, and a failed batch is sent again, within
 * 10 s.
 */
export const lagLimits = { standingStillMs: 10_000, lateMs: 30_000 } as const
