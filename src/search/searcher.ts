import type { Scope } from '../access/scope.ts'
import { knowsLanguage } from '../embedding/embedder.ts'
import { isUnavailability, TidemarkError } from '../errors.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import { parseQuery } from '../text/parse-query.ts'
import { queryLanguages } from '../text/query-languages.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { Caller } from '../turns/caller.ts'
import { Callers } from '../turns/callers.ts'
import type { FairTurns } from '../turns/fair-turns.ts'
import { correctQuery } from './correct-query.ts'
import { countCandidates } from './count-candidates.ts'
import { crossEncoded } from './cross-encode.ts'
import type { CrossEncoder } from './cross-encoder.ts'
import { type Explanation, keywordParts, vectorParts } from './explain.ts'
import type { FusionWeights } from './fuse.ts'
import type { AskedSource, ResultDocument } from './index-source.ts'
import type { PagePosition } from './keyword-cursors.ts'
import { likelyCandidates } from './likely-candidates.ts'
import { searchLimits as limits } from './limits.ts'
import { chunksOf, findNearest, type NearestOutcome, type NearestWanted, nearQueries } from './nearest.ts'
import { type QueryEmbedders, type QueryVectors, queryVectors } from './query-vectors.ts'
import type { RerankWeights } from './rerank.ts'
import { type FoundCandidate, type KeywordHit, type ScoredCandidates, scoreCandidates } from './score-candidates.ts'
import type { AskedIndex, ChunkScore, DocumentHit, EnoughNear, KeywordOutcome, KeywordRequest } from './search-index.ts'
import type { SearchRequest } from './search-request.ts'
import { nothing, type SearchResult } from './search-result.ts'
import type { CandidatesToRank, RankedCandidates, Ranking, ScoredCandidate, SearchTexts } from './search-texts.ts'
import { SearchTime } from './search-time.ts'
import { causeOf, type Shortfall } from './shortfall.ts'
import { isOneWordEnough } from './word-evidence.ts'

export interface SearcherParts extends QueryEmbedders {
  readonly index: AskedIndex
  readonly source: AskedSource
  readonly texts: SearchTexts
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
  readonly turns: FairTurns
  /** Null: the own reranker has the last word. */
  readonly crossEncoder: CrossEncoder | null
  /** Whether the index lacks documents because it is being built anew. */
  readonly isRefilling: () => boolean
}

/** The three ways to search, and what each does when a part of it fails. */
export class Searcher {
  readonly #parts: SearcherParts

  constructor(parts: SearcherParts) {
    this.#parts = parts
  }

  /** The dimensions a caller's vector must have; null while they are not known. */
  get dimensions(): number | null {
    return this.#parts.embedder.dimensions
  }

  /** Rejects with the reason of the caller's signal once that has fired. */
  async search(
    request: SearchRequest,
    scope: Scope,
    after: PagePosition | null,
    caller: Caller,
    time: SearchTime = new SearchTime(),
  ): Promise<SearchResult> {
    // Asked before: what the last step of the refilling adds may come too late for this search.
    const isRefilling = this.#parts.isRefilling()
    const query = parseQuery(request.text, request.filters.languages, { lastIsBeginning: request.prefix })
    const vectorUntil = Date.now() + limits.vectorWaitMs
    // A vector is made from a body: who may read none can be found nothing by it, and does not wait for it.
    const isOfUse = request.mode !== 'keyword' && scope.entries.some(({ fields }) => fields.includes('body'))
    const languages = request.mode === 'keyword' ? null : queryLanguages(request.text, request.filters.languages)
    const vectors = isOfUse
      ? await time.spend('embedding', () => queryVectors(this.#parts, request, languages, caller))
      : { found: [], failed: null }
    caller.signal.throwIfAborted()
    const keywordUntil = Date.now() + limits.keywordWaitMs
    const index = time.index(this.#parts.index)
    const source = time.source(this.#parts.source)
    const untils = { keywordUntil, vectorUntil }
    const texts = time.texts(this.#parts.texts)
    const asked = { request, scope, query, languages, after, caller, vectors, ...untils, index, source, texts, time }
    const result = await this.#searchBy(asked)
    if (!isRefilling) return result
    return { ...result, facetsExact: false, shortfalls: [...result.shortfalls, rebuilding] }
  }

  #searchBy(asked: Asked): Promise<SearchResult> {
    switch (asked.request.mode) {
      case 'keyword':
        return this.#inTurn(asked, () => this.#keyword(asked, []))
      case 'vector':
        return this.#inTurn(asked, () => this.#vector(asked))
      case 'hybrid':
        return this.#hybrid(asked)
    }
  }

  /**
   * Callers take turns at what the cores do: index, store and ranking. Vectors and the cross-encoder are waited for
   * outside. One whose time is over before its turn has none left for its branches, and they say so.
   */
  async #inTurn<T>({ caller, vectors, keywordUntil, vectorUntil, time }: Asked, work: () => Promise<T>): Promise<T> {
    const until = vectors.found.length > 0 ? Math.max(keywordUntil, vectorUntil) : keywordUntil
    const { turns } = this.#parts
    const wait = (signal: AbortSignal) => turns.take(new Callers(caller.id), signal)
    const take = () => turns.takeNow(caller.id) ?? withDeadline(until - Date.now(), caller.signal, wait)
    const endTurn = await time.spend('queue', take)
    try {
      caller.signal.throwIfAborted()
      return await work()
    } finally {
      endTurn?.()
    }
  }

  async #keyword(asked: Asked, shortfalls: readonly Shortfall[]): Promise<SearchResult> {
    const { request, caller } = asked
    const corrected = await this.#corrected(asked)
    const { query, corrections } = corrected.outcome === 'corrected' ? corrected : { ...asked, corrections: [] }
    caller.signal.throwIfAborted()
    const outcome =
      corrected.outcome === 'corrected'
        ? await this.#keywordBranch({ ...asked, query }, request.limit, request.facets && { facets: request.facets })
        : corrected
    caller.signal.throwIfAborted()
    if (outcome.outcome !== 'found') {
      const cause = causeOf(outcome, limits.keywordWaitMs)
      if (outcome.outcome === 'unavailable' || shortfalls.length > 0) throw unavailable(cause)
      return nothing(query, request.limit, { what: 'keyword_search_timed_out', cause })
    }
    return {
      found: outcome.hits.map((hit) => ({
        documentId: hit.documentId,
        best: shownChunk(hit),
        others: shownOthers(hit.otherChunks, request),
        score: hit.score,
        keywordScore: hit.score,
        vectorScore: null,
        rerankScore: null,
        explanation: request.explain ? { keyword: keywordParts(query, hit) } : null,
      })),
      page: null,
      query,
      corrections,
      totalChunks: outcome.totalChunks,
      topK: request.limit,
      next: outcome.next && { ...outcome.next, statistics: outcome.statistics },
      facets: outcome.facets ?? [],
      facetsExact: true,
      vectorsPending: false,
      shortfalls,
    }
  }

  /** Falls back to the words of the query, where there are any. */
  async #vector(asked: Asked): Promise<SearchResult> {
    const { query, request, caller } = asked
    const most = limits.vectorCandidatesMax
    // By several profiles the best can be what neither has among its first.
    const isSimple = !request.chunks && request.facets === null && asked.vectors.found.length === 1
    const enough = isSimple ? { chunks: 0, documents: request.limit } : undefined
    let topK: number = isSimple ? Math.min(most, request.limit * limits.vectorCandidatesPerResult) : most
    let outcome = await this.#vectorBranch(asked, { topK, enough })
    // Too few documents among the nearest chunks, and there are further chunks: a long one has taken their places.
    if (
      topK < most &&
      outcome.outcome === 'found' &&
      outcome.hits.length < request.limit &&
      chunksOf(outcome.hits) === topK
    ) {
      topK = most
      outcome = await this.#vectorBranch(asked, { topK, enough })
    }
    caller.signal.throwIfAborted()
    if (outcome.outcome !== 'found') {
      const shortfall: Shortfall = { what: 'vector_search_unavailable', cause: outcome.cause }
      if (request.text === '') return nothing(query, topK, shortfall)
      const fallback = await this.#keyword({ ...asked, after: null }, [shortfall])
      return { ...fallback, next: null }
    }
    const facets = await this.#countCandidates(asked, outcome.hits)
    return {
      found: outcome.hits.slice(0, request.limit).map((hit) => ({
        documentId: hit.documentId,
        best: shownChunk(hit),
        others: shownOthers(hit.otherChunks, request),
        score: hit.score,
        keywordScore: null,
        vectorScore: hit.score,
        rerankScore: null,
        explanation: request.explain ? vectorParts(hit) : null,
      })),
      page: null,
      query,
      corrections: [],
      totalChunks: chunksOf(outcome.hits),
      topK,
      next: null,
      facets,
      facetsExact: false,
      vectorsPending: outcome.vectorsPending,
      shortfalls: partial(asked),
    }
  }

  async #hybrid(asked: Asked): Promise<SearchResult> {
    const shortfalls: Shortfall[] = []
    const both = await this.#inTurn(asked, () => this.#byBoth(asked, shortfalls))
    const { query, request, caller } = asked
    const { crossEncoder } = this.#parts
    const about = { text: request.text, caller, time: asked.time }
    const found = crossEncoder === null ? both.found : await crossEncoded(crossEncoder, both, about, shortfalls)
    caller.signal.throwIfAborted()
    const { page, totalChunks, facets, vectorsPending } = both
    return {
      found: found.slice(0, request.limit),
      page,
      query,
      corrections: [],
      totalChunks,
      topK: hybridCandidates(request),
      next: null,
      facets,
      facetsExact: false,
      vectorsPending,
      shortfalls,
    }
  }

  async #byBoth(
    asked: Asked,
    shortfalls: Shortfall[],
  ): Promise<Ranked & Pick<SearchResult, 'totalChunks' | 'facets' | 'vectorsPending'>> {
    const { request, query } = asked
    const { filters, explain } = request
    const near = nearQueries(asked.vectors.found, filters)
    const [keyword, vector] = await Promise.all([
      this.#keywordBranch({ ...asked, after: null }, hybridCandidates(request), {
        near,
        explainFirst: !isOneWordEnough(query),
      }),
      this.#vectorBranch(asked, {
        topK: limits.hybridCandidatesMax,
        enough: { chunks: hybridCandidates(request), documents: limits.hybridDocumentsMin },
        first: isLong(request) ? firstNear : undefined,
        words: { query, filters, explain },
      }),
    ])
    asked.caller.signal.throwIfAborted()
    if (vector.outcome !== 'found') shortfalls.push({ what: 'vector_search_unavailable', cause: vector.cause })
    else shortfalls.push(...partial(asked))
    if (keyword.outcome !== 'found') {
      const cause = causeOf(keyword, limits.keywordWaitMs)
      if (keyword.outcome === 'unavailable' || vector.outcome !== 'found') throw unavailable(cause)
      shortfalls.push({ what: 'keyword_search_timed_out', cause })
    }
    const keywordHits: readonly KeywordHit[] = keyword.outcome === 'found' ? markedFrom(request, keyword.hits) : []
    const vectorHits = vector.outcome === 'found' ? vector.hits : []
    const vectors = vector.outcome === 'found' ? asked.vectors.found : []
    const statistics = keyword.outcome === 'found' ? keyword.statistics : undefined
    const doTell = keywordHits.every(({ cosines }) => cosines) && vectorHits.every(({ words }) => words !== undefined)
    const hits = [...keywordHits, ...vectorHits]
    const areFewRead = !this.#areAllWanted(request) && hits.every(({ titleLength }) => titleLength !== undefined)
    const foundIds = () => [...new Set(hits.map(({ documentId }) => documentId))]
    const [scored, documents] = await Promise.all([
      scoreCandidates({ ...asked, statistics }, keywordHits, vectorHits, vectors, shortfalls),
      // Where the index is asked once more, the store need not wait for that; unless few of them are read then.
      doTell || areFewRead ? undefined : asked.source.results(foundIds()),
    ])
    asked.caller.signal.throwIfAborted()
    const ranked = await this.#ranked(asked, scored, documents)
    const candidates = ranked.found.map(({ documentId, best }) => ({ documentId, versionId: best.versionId }))
    return {
      ...ranked,
      facets: await this.#countCandidates(asked, candidates),
      // How many both found is not known: no fewer than either did.
      totalChunks: Math.max(keyword.outcome === 'found' ? keyword.totalChunks : 0, chunksOf(vectorHits)),
      vectorsPending: vector.outcome === 'found' && vector.vectorsPending,
    }
  }

  /** They are counted, or have yet to be put into another order. */
  #areAllWanted({ facets }: SearchRequest): boolean {
    return this.#parts.crossEncoder !== null || facets !== null
  }

  /** The best first, or all of them where they are wanted. */
  async #ranked(
    { request, scope, query, languages, texts }: Asked,
    { candidates, evidence }: ScoredCandidates,
    documents: readonly ResultDocument[] | undefined,
  ): Promise<Ranked> {
    if (candidates.length === 0) return { found: [], texts: [], page: null }
    const { embedder, weights, rerankWeights, crossEncoder } = this.#parts
    const areAllWanted = this.#areAllWanted(request)
    const scored =
      request.chunks || request.explain
        ? (one: FoundCandidate): ScoredCandidate => ({
            ...toRank(one),
            ...(request.chunks && { others: shownOthers(one.others, request) }),
            ...(request.explain && { explanation: explained(one, query) }),
          })
        : toRank
    const ranking: Ranking = {
      text: request.text,
      query,
      languages,
      model: { languages: embedder.languages, cosines: embedder.cosines },
      // The caller's own vector is taken at its word; of a text in a language unknown to the model it would say nothing.
      isLanguageKnown:
        request.queryVector !== null ||
        languages === null ||
        languages.some((language) => knowsLanguage(embedder, language)),
      evidence,
      weights,
      rerankWeights,
      limit: areAllWanted ? candidates.length : request.limit,
    }
    const all = (): CandidatesToRank => ({
      ...ranking,
      candidates: candidates.map((one) => (one.isFurther ? { ...scored(one), isFurther: true } : scored(one))),
      documents,
      textsOf: crossEncoder === null ? 0 : limits.crossEncoderMax,
    })
    if (areAllWanted) return { ...(await texts.rank(all(), scope)), page: null }
    const { fields, highlights, chunks } = request
    const shown = { fields, highlights, chunks }
    const likely = documents === undefined ? likelyCandidates(candidates, ranking, Date.now(), scored) : null
    const page = likely && (await texts.rankLikely(likely, shown, scope))
    return { ...(page ?? (await texts.rankAndPresent(all(), shown, scope))), texts: [] }
  }

  /** The query as it is, where no typing errors are to be put right. */
  async #corrected({ request, scope, query, keywordUntil, index }: Asked) {
    const { text, typo, filters, conditions } = request
    if (typo === 'off') return { outcome: 'corrected', query, corrections: [] } as const
    const timeoutMs = keywordUntil - Date.now()
    if (timeoutMs <= 0) return { outcome: 'timed_out' } as const
    return correctQuery(index, query, { text, typo, scope, filters, conditions, timeoutMs })
  }

  async #keywordBranch(
    { request, scope, query, after, keywordUntil, index }: Asked,
    limit: number,
    besides: Pick<KeywordRequest, 'facets' | 'near' | 'explainFirst'> | null,
  ): Promise<KeywordOutcome> {
    const timeoutMs = keywordUntil - Date.now()
    if (timeoutMs <= 0) return { outcome: 'timed_out' }
    const otherChunksMax = request.chunks ? limits.chunksPerDocumentMax - 1 : 0
    const { filters, conditions, order, explain } = request
    const asked = { query, scope, filters, conditions, order, ...besides, limit, after, otherChunksMax, timeoutMs }
    return index.keyword({ ...asked, statistics: after?.statistics, explain })
  }

  async #countCandidates(
    { request, scope, source }: Asked,
    candidates: readonly { readonly documentId: string; readonly versionId: string }[],
  ): Promise<SearchResult['facets']> {
    return request.facets === null ? [] : countCandidates(source, scope, candidates, request.facets)
  }

  /** Every trouble is one outcome, this branch is not there; a defect is not. */
  async #vectorBranch(
    { request, scope, vectors, vectorUntil, index }: Asked,
    wanted: NearestWanted,
  ): Promise<VectorBranch> {
    if (vectors.found.length === 0) {
      if (vectors.failed !== null) return { outcome: 'failed', cause: vectors.failed }
      return { outcome: 'found', hits: [], vectorsPending: false }
    }
    const timeoutMs = vectorUntil - Date.now()
    try {
      const outcome: NearestOutcome =
        timeoutMs <= 0
          ? { outcome: 'timed_out' }
          : await findNearest(index, vectors.found, { scope, filters: request.filters, timeoutMs }, wanted)
      if (outcome.outcome === 'found') return outcome
      return { outcome: 'failed', cause: causeOf(outcome, limits.vectorWaitMs) }
    } catch (error) {
      if (isUnavailability(error)) return { outcome: 'failed', cause: error }
      throw error
    }
  }
}

/** The best first. */
type Ranked = RankedCandidates & Pick<SearchResult, 'page'>

/** One search on its way through the steps. */
interface Asked {
  readonly request: SearchRequest
  readonly scope: Scope
  readonly query: KeywordQuery
  readonly after: PagePosition | null
  readonly caller: Caller
  /** Those that the query may be in; null where that is not known, or not asked for: by words alone. */
  readonly languages: readonly string[] | null
  readonly vectors: QueryVectors
  /** When the time of a branch is over. */
  readonly keywordUntil: number
  readonly vectorUntil: number
  /** Asked so, their time counts as that of this search. */
  readonly index: AskedIndex
  readonly source: AskedSource
  readonly texts: SearchTexts
  readonly time: SearchTime
}

type VectorBranch =
  | Extract<NearestOutcome, { outcome: 'found' }>
  | { readonly outcome: 'failed'; readonly cause: Error }

/** Some of the query's vectors were there, and not all. */
const partial = ({ vectors }: Asked): Shortfall[] =>
  vectors.failed === null ? [] : [{ what: 'vector_search_unavailable', cause: vectors.failed }]

/**
 * It goes on with what follows what the branches of a hybrid search find first: where the page is longer than what those
 * are sure to find, and where more than the page is told, which must not depend on its length.
 */
const isLong = ({ limit, facets, chunks }: SearchRequest): boolean =>
  limit > limits.hybridDocumentsMin || facets !== null || chunks

const hybridCandidates = (request: SearchRequest): number =>
  isLong(request) ? limits.hybridCandidatesMax : limits.hybridCandidates

const firstNear: EnoughNear = { chunks: limits.hybridCandidates, documents: limits.hybridDocumentsMin }

const markedFrom = (request: SearchRequest, hits: readonly DocumentHit[]): readonly KeywordHit[] =>
  isLong(request)
    ? hits.map((hit, place) => (place < limits.hybridCandidates ? hit : { ...hit, isFurther: true }))
    : hits

/** The chunks of a result that are shown, and no more of them than is. */
const shownChunk = ({ chunkId, versionId, score }: ChunkScore): ChunkScore => ({ chunkId, versionId, score })

const shownOthers = (others: readonly ChunkScore[], { chunks }: SearchRequest): readonly ChunkScore[] =>
  chunks ? others.slice(0, limits.chunksPerDocumentMax - 1) : []

/** What the ranking needs of a candidate: of hundreds, so it is put together in one step. */
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

const rebuilding: Shortfall = { what: 'search_index_rebuilding', cause: null }

function unavailable(cause: Error): TidemarkError {
  return new TidemarkError(
    'search_backend_unavailable',
    'search is unavailable: try again later, with growing pauses',
    {
      retryAfterSeconds: 1,
      cause,
    },
  )
}
