import { isUnavailability } from '../errors.ts'
import type { Caller } from '../turns/caller.ts'
import type { CrossEncoder } from './cross-encoder.ts'
import type { Parts } from './explain.ts'
import type { FoundDocument } from './found-document.ts'
import { byScore, scaled } from './rank-candidates.ts'
import type { RankedCandidates } from './search-texts.ts'
import type { SearchTime } from './search-time.ts'
import type { Shortfall } from './shortfall.ts'

/** Those with texts get the cross-encoder's scores, where it answers; the others stay below them, in their order. */
export async function crossEncoded(
  crossEncoder: CrossEncoder,
  { found, texts }: RankedCandidates,
  { text, caller, time }: { readonly text: string; readonly caller: Caller; readonly time: SearchTime },
  shortfalls: Shortfall[],
): Promise<readonly FoundDocument[]> {
  const asked = texts.filter((one) => one !== '')
  if (asked.length === 0) return found
  try {
    const given = await time.spend('rerank', () => crossEncoder.scores(text, asked, caller))
    const lowest = Math.min(...given)
    const scored = found.filter((_, i) => texts[i] !== '')
    const others = found.filter((_, i) => texts[i] === '')
    return [
      ...scored.map((one, i) => rescored(one, given[i]!, () => ({ cross_encoder: given[i]! }))).sort(byScore),
      ...others.map((one) => rescored(one, one.score * lowest, (rerank) => scaled(rerank, lowest))),
    ]
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
