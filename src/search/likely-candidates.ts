import { equalLengths } from '../text/equal-lengths.ts'
import { extremesOf, fusion, qualityMargin } from './fuse.ts'
import { searchLimits as limits } from './limits.ts'
import { nthHighest } from './nth-highest.ts'
import { candidatesBy } from './rank-candidates.ts'
import type { FoundCandidate } from './score-candidates.ts'
import type { ToldColumns } from './search-index.ts'
import type { LikelyToRank, Ranking, ScoredCandidate, ToldCandidate } from './search-texts.ts'

/** Where more than so many times those that are wanted are likely, it is no gain to read all their texts at once. */
const likelyPerWanted = 2

interface Told extends FoundCandidate {
  readonly told: ToldColumns
}

/**
 * The candidates that can be among the best: of what ranking goes by the index tells all but the quality, which is worth
 * little, and the texts, which are read of the best by the other scores and by words, and where the query is the title.
 * That can be only where the title is as long. Where many are likely, those are told apart that only their quality can
 * bring among the best. Null where the index does not tell, and for a page that is longer than what the branches found first.
 *
 * What the index tells may be a moment behind the store: where that says otherwise of one of these, all are ranked.
 */
export function likelyCandidates(
  candidates: readonly FoundCandidate[],
  ranking: Ranking,
  nowMs: number,
  asScored: (candidate: FoundCandidate) => ScoredCandidate,
): LikelyToRank | null {
  if (!candidates.every(isTold) || candidates.some(({ isFurther }) => isFurther)) return null
  const { weights, model, evidence, limit } = ranking
  const asCandidate = candidatesBy(ranking)
  const fused = candidates.map(({ keyword, near, told }) => asCandidate(keyword, near?.score ?? null, told, null))
  const extremes = extremesOf(fused)
  const scoreOf = fusion(extremes, weights, nowMs, model.cosines, evidence)
  const scores = Float64Array.from(fused, (one) => scoreOf(one).score)
  const wanted = Math.max(limits.rerankMax, limit)
  const leastScore = nthHighest(scores, wanted)
  const leastLikely = leastScore - 2 * qualityMargin(weights)
  const byWords = Float64Array.from(candidates, ({ keyword }) => keyword ?? Number.NEGATIVE_INFINITY)
  const leastByWords = nthHighest(byWords, limits.rerankByWordsMax)
  const lengths = equalLengths(ranking.text)
  const mayBeTitle = (length: number) => lengths === null || (length >= lengths.least && length <= lengths.most)
  const asked: ToldCandidate[] = []
  const byQuality: ToldCandidate[] = []
  for (const [i, one] of candidates.entries()) {
    const { keyword, told } = one
    const isBest =
      scores[i]! >= leastScore || (keyword !== null && keyword >= leastByWords) || mayBeTitle(told.titleLength)
    if (!isBest && scores[i]! < leastLikely) continue
    const { language, publishedAt } = told
    const likely = { ...asScored(one), language, publishedAt }
    if (isBest) asked.push(likely)
    else byQuality.push(likely)
  }
  const areMany = asked.length + byQuality.length > likelyPerWanted * wanted
  return areMany
    ? { ...ranking, candidates: asked, byQuality, extremes, nowMs }
    : { ...ranking, candidates: [...asked, ...byQuality], byQuality: [], extremes, nowMs }
}

const isTold = (candidate: FoundCandidate): candidate is Told => candidate.told !== undefined
