import { knowsLanguage } from '../../embedding/embedder.ts'
import type { KeywordQuery } from '../../text/types.ts'
import type { FoundCandidate, ScoredCandidates } from '../fuse/fuse.ts'
import { searchLimits as limits } from '../limits.ts'
import type { SearchRequest } from '../parse/search-request.ts'
import { type Explanation, keywordParts, vectorParts } from '../present/explain.ts'
import { foundDocument, type ScoredCandidate } from '../present/found-document.ts'
import type { Retrieved } from '../retrieve/retrieve.ts'
import type { RunningSearch } from '../running-search.ts'
import type { CandidatesToRank, Ranked } from '../search-texts.ts'

/**
 * The fourth step: fuses and reranks the candidates of both branches, next to the stored texts. The results of a single
 * branch are already in order. Returns the best ones, or all of them if a cross-encoder reorders them afterwards.
 */
export async function rank(
  running: RunningSearch,
  { query }: Retrieved,
  { candidates, evidence }: ScoredCandidates,
): Promise<Ranked> {
  const { request, scope, texts, embedder, weights, rerankWeights, crossEncoder, time } = running
  const { mode, text, languages, limit, fields, highlights, chunks } = request
  const scored = scoredBy(request, query)
  if (mode !== 'hybrid') {
    const found = candidates.slice(0, limit).map((one) => foundDocument(scored(one), null))
    return { found, texts: [], page: null }
  }
  if (candidates.length === 0) return { found: [], texts: [], page: null }
  const ranking: CandidatesToRank = {
    text,
    query,
    languages,
    model: { languages: embedder.languages, cosines: embedder.cosines },
    // A vector from the caller is trusted. If the model does not know the language of a text, its vector is
    // meaningless.
    isLanguageKnown:
      request.queryVector !== null ||
      languages === null ||
      languages.some((language) => knowsLanguage(embedder, language)),
    evidence,
    weights,
    rerankWeights,
    limit: crossEncoder === null ? limit : candidates.length,
    candidates: candidates.map((one) => (one.isExtra ? { ...scored(one), isExtra: true } : scored(one))),
    textsOf: crossEncoder === null ? 0 : limits.crossEncoderMax,
  }
  const shown = crossEncoder === null ? { fields, highlights, chunks } : null
  return time.trace('fuse', () => texts.rank(ranking, shown, scope))
}

/** Converts candidates, with other chunks and explanations if the request wants them. */
function scoredBy(request: SearchRequest, query: KeywordQuery): (one: FoundCandidate) => ScoredCandidate {
  if (!request.chunks && !request.explain) return toRank
  return (one) => ({
    ...toRank(one),
    ...(request.chunks && { others: one.others.slice(0, limits.chunksPerDocumentMax - 1) }),
    ...(request.explain && { explanation: explained(one, query) }),
  })
}

/** The data of a candidate that the ranking needs. */
const toRank = ({ documentId, best, keyword, near }: FoundCandidate): ScoredCandidate => ({
  documentId,
  versionId: best.versionId,
  chunkId: best.chunkId,
  keyword,
  cosine: near?.score ?? null,
})

function explained({ best, keyword, near }: FoundCandidate, query: KeywordQuery): Explanation {
  return {
    ...(keyword === null ? {} : { keyword: keywordParts(query, best) }),
    ...(near === null ? {} : vectorParts(near)),
  }
}
