import { isUnavailability } from '../../platform/errors.ts'
import type { Parts } from '../present/explain.ts'
import type { FoundDocument } from '../present/found-document.ts'
import type { RunningSearch } from '../running-search.ts'
import type { Ranked } from '../search-texts.ts'
import { byScore, scaled } from './rank-candidates.ts'

/**
 * Replaces the scores of candidates with texts by those of the cross-encoder. The others follow in their order. If the
 * cross-encoder is unavailable, the order stays.
 */
export async function crossEncode(
  { request, caller, crossEncoder, time, degradations }: RunningSearch,
  { found, texts, page }: Ranked,
): Promise<Ranked> {
  const best = (ordered: readonly FoundDocument[]): Ranked => ({ found: ordered.slice(0, request.limit), texts, page })
  const sent = texts.filter((one) => one !== '')
  if (crossEncoder === null || sent.length === 0) return best(found)
  try {
    const scores = await time.spend('rerank', () => crossEncoder.scores(request.text, sent, caller))
    const lowest = Math.min(...scores)
    const scored = found.filter((_, i) => texts[i] !== '')
    const others = found.filter((_, i) => texts[i] === '')
    caller.signal.throwIfAborted()
    return best([
      ...scored.map((one, i) => rescored(one, scores[i]!, () => ({ cross_encoder: scores[i]! }))).sort(byScore),
      ...others.map((one) => rescored(one, one.score * lowest, (rerank) => scaled(rerank, lowest))),
    ])
  } catch (error) {
    if (!isUnavailability(error)) throw error
    caller.signal.throwIfAborted()
    degradations.add('rerank_unavailable', error)
    return best(found)
  }
}

function rescored(found: FoundDocument, score: number, partsOf: (rerank: Parts) => Parts): FoundDocument {
  const { explanation } = found
  const rescoredExplanation = explanation && { ...explanation, rerank: partsOf(explanation.rerank ?? {}) }
  return { ...found, score, rerankScore: score, explanation: rescoredExplanation }
}
