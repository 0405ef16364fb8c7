/**
 * BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009) with Lucene's idf, which
 * is never negative. All counts are within the scope. The kernel of the embedded index and the script of OpenSearch
 * repeat `bm25` with the weights and the norm from here; tests compare them with this.
 */
const k1 = 1.2
const b = 0.75

/** The weight of a word in the title, against 1 in the body. Frequencies and lengths of both fields are added. */
export const titleWeight = 3

/** Returns the idf of a term that `count` of `chunks` chunks contain. */
export const idfOf = (chunks: number, count: number): number => Math.log(1 + (chunks - count + 0.5) / (count + 0.5))

/** Returns the upper bound of the score of a term with this idf. The score approaches it as the frequency grows. */
export const maxScoreOfIdf = (idf: number): number => idf * (k1 + 1)

/** Normalises by the length of a chunk: `normBase + normStep * length`. */
export interface LengthNorm {
  readonly normBase: number
  readonly normStep: number
}

export function lengthNorm(chunks: number, totalLength: number): LengthNorm {
  const averageLength = chunks === 0 ? 1 : Math.max(totalLength / chunks, 1e-9)
  return { normBase: k1 * (1 - b), normStep: (k1 * b) / averageLength }
}

/** Returns the score of a term or phrase with this frequency in a chunk of `length` positions. */
export const bm25 = (weight: number, frequency: number, length: number, { normBase, normStep }: LengthNorm): number =>
  (weight * frequency) / (frequency + (normBase + normStep * length))
