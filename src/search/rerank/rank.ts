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
 * The fourth step: reranks the best candidates of both branches, where they are stored. The results of a single branch
 * are in order already. Returns the best, or all of them if a cross-encoder will reorder them.
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
    // A vector of the caller is trusted. A vector of a text in a language that the model does not know means nothing.
    isLanguageKnown:
      request.queryVector !== null ||
      languages === null ||
      languages.some((language) => knowsLanguage(embedder, language)),
    evidence,
    weights,
    rerankWeights,
    limit: crossEncoder === null ? limit : candidates.length,
    candidates: candidates.map((one) => (one.isFurther ? { ...scored(one), isFurther: true } : scored(one))),
    textsOf: crossEncoder === null ? 0 : limits.crossEncoderMax,
  }
  const shown = crossEncoder === null ? { fields, highlights, chunks } : null
  return time.trace('fuse', () => texts.rank(ranking, shown, scope))
}

/** Adds the parts that the request shows. */
function scoredBy(request: SearchRequest, query: KeywordQuery): (one: FoundCandidate) => ScoredCandidate {
  if (!request.chunks && !request.explain) return toRank
  return (one) => ({
    ...toRank(one),
    ...(request.chunks && { others: one.others.slice(0, limits.chunksPerDocumentMax - 1) }),
    ...(request.explain && { explanation: explained(one, query) }),
  })
}

/** The data of a candidate that the ranking needs. There are hundreds, so it is made in one step. */
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
