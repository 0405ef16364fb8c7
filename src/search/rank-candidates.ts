import { readableFields, type Scope } from '../access/scope.ts'
import { type Embedder, knowsLanguage } from '../embedding/embedder.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { Caller } from '../turns/caller.ts'
import type { Parts } from './explain.ts'
import { type Candidate, type FusionWeights, fuse } from './fuse.ts'
import type { AskedSource, ChunkText, ResultDocument } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import { type NearChunk, type NearHit, type QueryVector, scoreNearest } from './nearest.ts'
import { type RerankWeights, rerankerOf } from './rerank.ts'
import type { AskedIndex, ChunkScore, DocumentHit, TimedOut, Unavailable } from './search-index.ts'
import type { SearchRequest } from './search-request.ts'
import { causeOf, type Shortfall } from './shortfall.ts'
import { wordEvidence } from './word-evidence.ts'

export interface RankingParts {
  readonly index: AskedIndex
  readonly source: AskedSource
  /** Of the default profile. */
  readonly embedder: Embedder
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
}

interface Asked {
  readonly request: SearchRequest
  readonly scope: Scope
  readonly query: KeywordQuery
  readonly caller: Caller
  /** Those that the query may be in; null where that is not known. */
  readonly languages: readonly string[] | null
}

interface RankedCandidate extends Candidate {
  readonly document: ResultDocument
  readonly best: ChunkScore
  readonly others: readonly ChunkScore[]
  /** What its cosine is of; null without one. */
  readonly near: NearChunk | null
}

interface FusedCandidate extends RankedCandidate {
  readonly score: number
  readonly fusion: Parts
}

/** With what of its texts was read for its score, none of it where the reader may not see it. */
export interface ReadCandidate extends FusedCandidate {
  readonly rerank: Parts
  readonly title: string
  readonly body: string
}

/** Both branches' candidates with both scores, fused, and the best of them reranked. Does not depend on the limit. */
export async function rankCandidates(
  parts: RankingParts,
  { request, scope, query, caller, languages }: Asked,
  keywordHits: readonly DocumentHit[],
  vectorHits: readonly NearHit[],
  vectors: readonly QueryVector[],
  shortfalls: Shortfall[],
): Promise<ReadCandidate[]> {
  const hits = new Map<string, { keyword: DocumentHit | null; vector: NearHit | null }>()
  for (const hit of keywordHits) hits.set(hit.documentId, { keyword: hit, vector: null })
  for (const hit of vectorHits)
    hits.set(hit.documentId, { keyword: hits.get(hit.documentId)?.keyword ?? null, vector: hit })
  const documentIds = [...hits.keys()]
  if (documentIds.length === 0) return []
  const { embedder, index, source } = parts
  const search = { scope, filters: request.filters, timeoutMs: limits.keywordWaitMs }
  const lack = (what: Shortfall['what'], outcome: TimedOut | Unavailable): void => {
    if (shortfalls.some((known) => known.what === what)) return
    shortfalls.push({ what, cause: causeOf(outcome, limits.keywordWaitMs) })
  }
  /** What one branch would have given to the documents that only the other one found. */
  const lacking = (branch: 'keyword' | 'vector') => documentIds.filter((one) => hits.get(one)![branch] === null)
  const completedByWords = async (): Promise<ReadonlyMap<string, ChunkScore | null>> => {
    const asked = lacking('keyword')
    if (asked.length === 0) return new Map()
    const scored = await index.score({ ...search, explain: request.explain, documentIds: asked, query, vector: null })
    if (scored.outcome === 'found') return new Map(scored.scores.map((one) => [one.documentId, one.keyword]))
    lack('keyword_search_timed_out', scored)
    return new Map()
  }
  const completedByVectors = async (): Promise<ReadonlyMap<string, NearChunk | null>> => {
    const asked = lacking('vector')
    if (asked.length === 0 || vectors.length === 0) return new Map()
    const scored = await scoreNearest(index, vectors, asked, search)
    if (scored.outcome === 'found') return new Map(scored.scores.map((one) => [one.documentId, one.vector]))
    lack('vector_search_unavailable', scored)
    return new Map()
  }
  /** The best by words, with what each word of the query adds to its score. */
  const bestByWords = async (): Promise<Pick<ChunkScore, 'parts'> | null> => {
    const [best = null] = keywordHits
    if (best === null || best.parts !== undefined) return best
    const scored = await index.score({
      ...search,
      explain: true,
      documentIds: [best.documentId],
      query,
      vector: null,
    })
    if (scored.outcome === 'found') return scored.scores[0]?.keyword ?? best
    lack('keyword_search_timed_out', scored)
    return best
  }
  const [keywordScores, vectorScores, documents, best] = await Promise.all([
    completedByWords(),
    completedByVectors(),
    source.results(documentIds),
    bestByWords(),
  ])
  caller.signal.throwIfAborted()
  // The caller's own vector is taken at its word; of a text in a language unknown to the model it would say nothing.
  const queryKnown =
    request.queryVector !== null ||
    languages === null ||
    languages.some((language) => knowsLanguage(embedder, language))
  const isMarked = query.clauses.some(({ kind }) => kind !== 'any')
  const found = documents.flatMap((document) => {
    const hit = hits.get(document.documentId)!
    const byWords = hit.keyword ?? keywordScores.get(document.documentId) ?? null
    const best = byWords ?? hit.vector
    const keyword = byWords?.score ?? null
    // What was demanded or excluded by a sign is so for the vector branch too.
    if (best === null || (isMarked && keyword === null)) return []
    const near = hit.vector ?? vectorScores.get(document.documentId) ?? null
    return [{ document, hit, best, keyword, near }]
  })
  const candidates = (await asFound(found, source)).map(
    ({ document, hit, best, keyword, near }): RankedCandidate => ({
      documentId: document.documentId,
      keyword,
      near,
      cosine: near?.score ?? null,
      quality: document.quality,
      publishedAt: document.publishedAt,
      languageKnown: queryKnown && knowsLanguage(embedder, document.language),
      languages:
        languages === null || document.language === null
          ? 'unknown'
          : languages.includes(document.language)
            ? 'same'
            : 'other',
      document,
      best,
      others: (hit.keyword ?? hit.vector)?.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId) ?? [],
    }),
  )
  const fused = fuse(candidates, parts.weights, Date.now(), embedder.cosines, wordEvidence(query, best))
  const ranked = candidates
    .map((candidate, i) => ({ ...candidate, score: fused[i]!.score, fusion: fused[i]!.parts }))
    .sort(byScore)
  return reranked(ranked, request.text, query, scope, parts)
}

/** Documents of which an earlier version was found have the title and the language of that one: it is what is read. */
async function asFound<One extends { readonly document: ResultDocument; readonly best: ChunkScore }>(
  found: readonly One[],
  source: AskedSource,
): Promise<readonly One[]> {
  const earlier = found.filter(({ document, best }) => best.versionId !== document.currentVersionId)
  if (earlier.length === 0) return found
  const heads = await source.versionHeads(earlier.map(({ best }) => best.versionId))
  const headOf = new Map(heads.map((head) => [head.versionId, head]))
  return found.flatMap((one) => {
    if (one.best.versionId === one.document.currentVersionId) return [one]
    const head = headOf.get(one.best.versionId)
    return head === undefined
      ? []
      : [{ ...one, document: { ...one.document, title: head.title, language: head.language } }]
  })
}

/** Reads the best of them; the others keep their order below. Texts that the reader may not see are not looked at. */
async function reranked(
  ranked: readonly FusedCandidate[],
  queryText: string,
  query: KeywordQuery,
  scope: Scope,
  { source, rerankWeights }: RankingParts,
): Promise<ReadCandidate[]> {
  const opened = ranked.map((one) => {
    const readable = readableFields(scope, one.document)
    return {
      ...one,
      title: readable?.has('title') ? one.document.title : null,
      hasBody: readable?.has('body') ?? false,
    }
  })
  const byWords = opened.filter(({ keyword }) => keyword !== null).sort((a, b) => b.keyword! - a.keyword!)
  const asked = queryText.toLowerCase()
  const sameTitle = opened.filter(({ title }) => title?.trim().toLowerCase() === asked)
  const head = new Set([
    ...opened.slice(0, limits.rerankMax),
    ...byWords.slice(0, limits.rerankByWordsMax),
    ...sameTitle.slice(0, limits.rerankByTitleMax),
  ])
  const texts = new Map<string, ChunkText>()
  const bodies = [...head].filter(({ hasBody }) => hasBody).map(({ best }) => best.chunkId)
  for (const text of await source.chunkTexts(bodies)) texts.set(text.chunkId, text)
  const rerank = rerankerOf(query, queryText, rerankWeights)
  const read = opened.map((one) => {
    const text = texts.get(one.best.chunkId)
    const title = head.has(one) ? (one.title ?? '') : ''
    const body = text?.text ?? ''
    const { score, parts } = rerank({ score: one.score, title, body, language: one.document.language })
    return { ...one, title, body, score, rerank: parts }
  })
  return read.sort(byScore)
}

interface Scored {
  readonly documentId: string
  readonly score: number
}

/** The best first. */
export const byScore = (a: Scored, b: Scored): number => b.score - a.score || (a.documentId < b.documentId ? -1 : 1)
