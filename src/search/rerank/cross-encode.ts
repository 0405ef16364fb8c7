import { isUnavailability } from '../../platform/errors.ts'
import type { Parts } from '../present/explain.ts'
import type { FoundDocument } from '../present/found-document.ts'
import type { RunningSearch } from '../running-search.ts'
import type { Ranked } from '../search-texts.ts'
import { byScore, scaled } from './rank-candidates.ts'

/** Candidates with texts get the scores of the cross-encoder, if it answers; the others follow in their order. */
export async function crossEncode(
  { request, caller, crossEncoder, time, shortfalls }: RunningSearch,
  { found, texts, page }: Ranked,
): Promise<Ranked> {
  const best = (better: readonly FoundDocument[]): Ranked => ({ found: better.slice(0, request.limit), texts, page })
  const asked = texts.filter((one) => one !== '')
  if (crossEncoder === null || asked.length === 0) return best(found)
  try {
    const given = await time.spend('rerank', () => crossEncoder.scores(request.text, asked, caller))
    const lowest = Math.min(...given)
    const scored = found.filter((_, i) => texts[i] !== '')
    const others = found.filter((_, i) => texts[i] === '')
    caller.signal.throwIfAborted()
    return best([
      ...scored.map((one, i) => rescored(one, given[i]!, () => ({ cross_encoder: given[i]! }))).sort(byScore),
      ...others.map((one) => rescored(one, one.score * lowest, (rerank) => scaled(rerank, lowest))),
    ])
  } catch (error) {
    if (!isUnavailability(error)) throw error
    caller.signal.throwIfAborted()
    shortfalls.add('rerank_unavailable', error)
    return best(found)
  }
}

/** The document with another score, and with the parts of that score if it is explained. */
function rescored(found: FoundDocument, score: number, partsOf: (rerank: Parts) => Parts): FoundDocument {
  const { explanation } = found
  const told = explanation && { ...explanation, rerank: partsOf(explanation.rerank ?? {}) }
  return { ...found, score, rerankScore: score, explanation: told }
}
