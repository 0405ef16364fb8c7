import { type CosineShape, defaultCosines } from '../../embedding/embedder.ts'
import { dayMs } from '../../platform/time.ts'

/**
 * Hybrid ranking, first step: a convex combination of scores, each normalised to 0..1. Reciprocal rank fusion is not
 * used, because it lets a weak branch outvote a strong one. A document that only one branch found is scored by the
 * other one afterwards, so every candidate has both scores. docs/ranking.md explains how the weights were chosen.
 */
export interface FusionWeights {
  readonly lexical: number
  readonly vector: number
  readonly quality: number
  readonly recency: number
}

export const defaultWeights: FusionWeights = { lexical: 0.38, vector: 0.58, quality: 0.02, recency: 0.02 }

/**
 * The share of the lexical weight that words keep, by the languages of query and document; the vector gets the rest.
 * Texts in different languages have only names and numbers in common.
 */
const lexicalShare = { same: 1, unknown: 0.75, other: 0.28 } as const

/** The age at which the recency of a document is one half. */
const recencyHalfLifeMs = 30 * dayMs
const qualityUnknown = 0.5
/**
 * Cosines are scaled to the range between the best and the worst candidate. The range is at least this share of the
 * distance between unrelated and related texts, so that a small difference among a few candidates does not decide
 * everything.
 */
const cosineRangeMin = 0.4
/**
 * A document may have no vector, because the vector is not computed yet or the document has only a title. Its vector
 * score is this share of its word score.
 */
const vectorPerWords = 0.9

export interface Candidate {
  /** BM25 of the best chunk; null if no word matches. */
  readonly keyword: number | null
  /** Cosine of the nearest chunk; null without a vector. */
  readonly cosine: number | null
  readonly quality: number | null
  /** Milliseconds since 1970. */
  readonly publishedAt: number | null
  /** Whether the embedding profile knows the languages of document and query. Otherwise the cosine is meaningless. */
  readonly languageKnown: boolean
  /** How the languages of document and query compare, if both are known. */
  readonly languages: keyof typeof lexicalShare
}

export interface Fused {
  /** 0 to 1. */
  readonly score: number
  /** The amount that each part adds to the score. */
  readonly parts: Readonly<Record<keyof FusionWeights, number>>
}

/** The extremes of all candidates, for normalising scores. */
interface Extremes {
  readonly keywordMax: number
  readonly cosineMax: number
  readonly cosineMin: number
}

export function extremesOf(candidates: readonly Candidate[]): Extremes {
  let keywordMax = 0
  let cosineMax = Number.NEGATIVE_INFINITY
  let cosineMin = Number.POSITIVE_INFINITY
  for (const { keyword, cosine, languageKnown } of candidates) {
    keywordMax = Math.max(keywordMax, finite(keyword) ?? 0)
    const known = languageKnown ? nearness(cosine) : null
    if (known === null) continue
    cosineMax = Math.max(cosineMax, known)
    cosineMin = Math.min(cosineMin, known)
  }
  return { keywordMax, cosineMax, cosineMin }
}

/**
 * Returns a function that scores a candidate. `cosines` is the range of cosines of the model. `evidence` is the share
 * of their weight that the words keep for this query, 0 to 1; the vector gets the rest.
 */
export function fusion(
  { keywordMax, cosineMax, cosineMin }: Extremes,
  weights: FusionWeights,
  nowMs: number,
  cosines: CosineShape = defaultCosines,
  evidence = 1,
): (candidate: Candidate) => Fused {
  const cosineRange = Math.max(cosineRangeMin * (cosines.related - cosines.unrelated), cosineMax - cosineMin)
  const total = weights.lexical + weights.vector + weights.quality + weights.recency
  return ({ keyword, cosine, languageKnown, languages, quality, publishedAt }) => {
    const lexical = keywordMax > 0 ? share((finite(keyword) ?? 0) / keywordMax) : 0
    const near = nearness(cosine)
    let vector = lexical
    if (languageKnown) vector = near === null ? vectorPerWords * lexical : share(1 - (cosineMax - near) / cosineRange)
    const words = weights.lexical * lexicalShare[languages] * evidence
    const parts = {
      lexical: words * lexical,
      vector: (weights.lexical + weights.vector - words) * vector,
      quality: weights.quality * share(finite(quality) ?? qualityUnknown),
      recency: weights.recency * recencyOf(finite(publishedAt), nowMs),
    }
    return {
      score: share((parts.lexical + parts.vector + parts.quality + parts.recency) / total),
      parts: {
        lexical: parts.lexical / total,
        vector: parts.vector / total,
        quality: parts.quality / total,
        recency: parts.recency / total,
      },
    }
  }
}

function recencyOf(publishedAt: number | null, nowMs: number): number {
  return publishedAt === null ? 0 : 0.5 ** (Math.max(0, nowMs - publishedAt) / recencyHalfLifeMs)
}

const nearness = (cosine: number | null): number | null => {
  const value = finite(cosine)
  return value === null ? null : Math.min(1, Math.max(-1, value))
}
const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null)
const share = (value: number): number => Math.min(1, Math.max(0, value))
