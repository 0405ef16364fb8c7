/** What searches take, used by schemas, code and documentation alike. */
export const searchLimits = {
  resultsDefault: 20,
  resultsMax: 100,
  queryCharactersMax: 1000,
  /** With the spaces around it. */
  queryUntrimmedMax: 10_000,
  vectorDimensionsMax: 8192,
  /** Characters of a result's `body`. */
  summaryCharactersMax: 500,
  highlightsMax: 3,
  /** Words of the texts that a mistyped one may have been meant for, the nearest and most frequent. */
  correctionsMax: 10,
  /** Chunks of one document listed in `matched_chunks`. */
  chunksPerDocumentMax: 5,
  /**
   * Chunks that vector mode looks at: so many for each result at first, because several may be of one document, and the
   * most where those gave too few documents. The answer is the same as with the most at once.
   */
  vectorCandidatesPerResult: 3,
  vectorCandidatesMax: 200,
  /**
   * Candidates of each branch in hybrid mode, by vector chunks, whatever the limit, so that scores and order do not depend on
   * it: a long page goes on with the next ones, up to the most. With 100, 50 and 32 nDCG@10 of cacm was .574, .574 and
   * .575, of cranfield .432, .432 and .433; among 26 sets of XQuAD within and across languages it differed by .004 in one and
   * by .001 in two.
   */
  hybridCandidates: 50,
  hybridCandidatesMax: 100,
  /**
   * Where those chunks are of fewer documents more are taken, up to the most: long ones would leave a page half empty. A page of
   * more results than this is a long one.
   */
  hybridDocumentsMin: 25,
  /**
   * Candidates that are read word by word, some 0.035 ms of the store's reader each: the best by fused score, and, so
   * that an exact hit is read whatever its score, the best by words alone and those with the query for a title. With 24
   * instead of 32 nDCG@10 of 28 sets differed in one, by .004.
   */
  rerankMax: 24,
  rerankByWordsMax: 8,
  rerankByTitleMax: 8,
  /** Of those that were read, the best, which a cross-encoder is asked about where there is one: it runs a model for each. */
  crossEncoderMax: 30,
  crossEncoderAnswerBytesMax: 1_048_576,
  facetValuesDefault: 10,
  facetValuesMax: 100,
  valuesDefault: 50,
  valuesMax: 100,
  /** How long the vector branch may take, embedding included. */
  vectorWaitMs: 5000,
  keywordWaitMs: 3000,
} as const
