/**
 * Hybrid ranking, first step: a convex sum of scores that are each brought to 0..1. Not rank fusion, which lets a weak
 * branch outvote a strong one (see docs/decisions). Every candidate has both scores: what one branch did not find is
 * scored by it afterwards, so a document found by only one branch still competes.
 */
export interface FusionWeights {
  readonly lexical: number
  readonly vector: number
  readonly quality: number
  readonly recency: number
}

export const defaultWeights: FusionWeights = { lexical: 0.5, vector: 0.46, quality: 0.02, recency: 0.02 }

/** After this long without news a document's recency is a half. */
const recencyHalfLifeMs = 30 * 86_400_000
const qualityUnknown = 0.5

export interface Candidate {
  readonly documentId: string
  /** BM25 of the best chunk; null where no word matches. */
  readonly keyword: number | null
  /** Cosine of the nearest chunk; null where there is no vector. */
  readonly cosine: number | null
  readonly quality: number | null
  readonly publishedAt: number | null
  /** Whether the embedding profile knows the document's language: otherwise its cosine says nothing. */
  readonly languageKnown: boolean
}

export function fuse(candidates: readonly Candidate[], weights: FusionWeights, nowMs: number): Map<string, number> {
  const lexicalMax = Math.max(Number.MIN_VALUE, ...candidates.map(({ keyword }) => keyword ?? 0))
  const cosines = candidates.flatMap(({ cosine, languageKnown }) => (cosine === null || !languageKnown ? [] : cosine))
  const cosineMin = Math.min(...cosines)
  const cosineRange = Math.max(1e-9, Math.max(...cosines) - cosineMin)
  const total = weights.lexical + weights.vector + weights.quality + weights.recency
  const scores = new Map<string, number>()
  for (const candidate of candidates) {
    const lexical = (candidate.keyword ?? 0) / lexicalMax
    // Without a cosine that means something (language unknown to the model, or the vector still to come) words decide.
    const vector =
      candidate.cosine === null || !candidate.languageKnown ? lexical : (candidate.cosine - cosineMin) / cosineRange
    const sum =
      weights.lexical * lexical +
      weights.vector * vector +
      weights.quality * (candidate.quality ?? qualityUnknown) +
      weights.recency * recencyOf(candidate.publishedAt, nowMs)
    scores.set(candidate.documentId, sum / total)
  }
  return scores
}

function recencyOf(publishedAt: number | null, nowMs: number): number {
  return publishedAt === null ? 0 : 0.5 ** (Math.max(0, nowMs - publishedAt) / recencyHalfLifeMs)
}
