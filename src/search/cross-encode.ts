import { isUnavailability } from '../errors.ts'
import type { Caller } from '../turns/caller.ts'
import type { CrossEncoder } from './cross-encoder.ts'
import { type Parts, scaled } from './explain.ts'
import type { FoundDocument } from './found-document.ts'
import { byScore } from './rank-candidates.ts'
import type { RankedCandidates } from './search-texts.ts'
import type { SearchTime } from './search-time.ts'
import type { Shortfall } from './shortfall.ts'

/** The best get the cross-encoder's scores, where it answers; the others stay below them. */
export async function crossEncoded(
  crossEncoder: CrossEncoder,
  { found, texts }: RankedCandidates,
  { text, caller, time }: { readonly text: string; readonly caller: Caller; readonly time: SearchTime },
  shortfalls: Shortfall[],
): Promise<readonly FoundDocument[]> {
  try {
    const given = await time.spend('rerank', () => crossEncoder.scores(text, texts, caller))
    const lowest = Math.min(...given)
    return found
      .map((one, i) => {
        const better = given[i]
        return better === undefined
          ? rescored(one, one.score * lowest, (rerank) => scaled(rerank, lowest))
          : rescored(one, better, () => ({ cross_encoder: better }))
      })
      .sort(byScore)
  } catch (error) {
    if (!isUnavailability(error)) throw error
    shortfalls.push({ what: 'rerank_unavailable', cause: error })
    return found
  }
}

/** With another score, and what that is made of where it is told. */
function rescored(found: FoundDocument, score: number, partsOf: (rerank: Parts) => Parts): FoundDocument {
  const { explanation } = found
  const told = explanation && { ...explanation, rerank: partsOf(explanation.rerank ?? {}) }
  return { ...found, score, rerankScore: score, explanation: told }
}
