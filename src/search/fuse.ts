import { type CosineShape, usualCosines } from '../embedding/embedder.ts'
import { dayMs } from '../time.ts'

/**
 * Hybrid ranking, first step: a convex sum of scores that are each brought to 0..1. Not rank fusion, which lets a weak
 * branch outvote a strong one. Every candidate has both scores: what one branch did not find is scored by it
 * afterwards, so a document found by only one branch still competes. How the figures were chosen: docs/ranking.md.
 */
export interface FusionWeights {
  readonly lexical: number
  readonly vector: number
  readonly quality: number
  readonly recency: number
}

export const defaultWeights: FusionWeights = { lexical: 0.38, vector: 0.58, quality: 0.02, recency: 0.02 }

/**
 * How much of the lexical weight words are worth, by what is known of the languages of query and document; the vector has
 * the rest. Across languages only names and numbers are the same words.
 */
const lexicalShare = { same: 1, unknown: 0.75, other: 0.28 } as const

/** After this long without news a document's recency is a half. */
const recencyHalfLifeMs = 30 * dayMs
const qualityUnknown = 0.5
/**
 * Cosines are measured against the best and the worst of the candidates, but never on a finer scale than this part of
 * what lies between unrelated and related: among a handful of candidates a small difference must not become all or
 * nothing.
 */
const cosineRangeMin = 0.4
/** A document whose vector is still to come, or that has only a title, is taken to be near in this part of its words. */
const vectorPerWords = 0.9

export interface Candidate {
  /** BM25 of the best chunk; null where no word matches. */
  readonly keyword: number | null
  /** Cosine of the nearest chunk; null where there is no vector. */
  readonly cosine: number | null
  readonly quality: number | null
  /** Milliseconds since 1970. */
  readonly publishedAt: number | null
  /** Whether the embedding profile knows the languages of document and query: otherwise the cosine says nothing. */
  readonly languageKnown: boolean
  /** Of document and query, as far as both are known. */
  readonly languages: keyof typeof lexicalShare
}

export interface Fused {
  /** 0 to 1. */
  readonly score: number
  /** What each of them adds to it. */
  readonly parts: Readonly<Record<keyof FusionWeights, number>>
}

/** What all candidates together say: each is measured by it. */
export interface Extremes {
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
 * The score of one candidate. `cosines` is where those of the model lie, `evidence` what part of their weight the words are
 * worth for this query, 0 to 1: the vector has the rest.
 */
export function fusion(
  { keywordMax, cosineMax, cosineMin }: Extremes,
  weights: FusionWeights,
  nowMs: number,
  cosines: CosineShape = usualCosines,
  evidence = 1,
): (candidate: Candidate) => Fused {
  const cosineRange = Math.max(cosineRangeMin * (cosines.related - cosines.unrelated), cosineMax - cosineMin)
  const total = totalOf(weights)
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

/** More than the rounding of a score. */
const rounding = 1e-9

/** How far from a score that was made without the quality the one with it can be. */
export const qualityMargin = (weights: FusionWeights): number =>
  (weights.quality / totalOf(weights)) * Math.max(qualityUnknown, 1 - qualityUnknown) + rounding

const totalOf = ({ lexical, vector, quality, recency }: FusionWeights): number => lexical + vector + quality + recency

function recencyOf(publishedAt: number | null, nowMs: number): number {
  return publishedAt === null ? 0 : 0.5 ** (Math.max(0, nowMs - publishedAt) / recencyHalfLifeMs)
}

const nearness = (cosine: number | null): number | null => {
  const value = finite(cosine)
  return value === null ? null : Math.min(1, Math.max(-1, value))
}
const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null)
const share = (value: number): number => Math.min(1, Math.max(0, value))
