import type { Scope } from '../access/scope.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import type { QueryCache } from '../embedding/query-cache.ts'
import { isUnavailability, TidemarkError, UnavailableError } from '../errors.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import { parseQuery } from '../text/parse-query.ts'
import { queryLanguages } from '../text/query-languages.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { Caller } from '../turns/caller.ts'
import { Callers } from '../turns/callers.ts'
import type { FairTurns } from '../turns/fair-turns.ts'
import { type Correction, correctQuery } from './correct-query.ts'
import { countCandidates } from './count-candidates.ts'
import type { CrossEncoder } from './cross-encoder.ts'
import { type Explanation, keywordParts, type Parts, scaled, vectorParts } from './explain.ts'
import type { ValueCount } from './facets.ts'
import type { FoundDocument } from './found-document.ts'
import type { AskedSource } from './index-source.ts'
import type { PagePosition } from './keyword-cursors.ts'
import { searchLimits as limits } from './limits.ts'
import { findNearest, type NearestOutcome, type QueryVector } from './nearest.ts'
import { byScore, type RankingParts, type ReadCandidate, rankCandidates } from './rank-candidates.ts'
import type { AskedIndex, DocumentHit, FacetsRequest, KeywordOutcome } from './search-index.ts'
import type { SearchRequest } from './search-request.ts'
import { SearchTime } from './search-time.ts'
import { causeOf, type Shortfall } from './shortfall.ts'

export interface SearchResult {
  readonly found: readonly FoundDocument[]
  /** With the corrections. */
  readonly query: KeywordQuery
  readonly corrections: readonly Correction[]
  readonly totalChunks: number
  readonly topK: number
  readonly next: PagePosition | null
  /** One for each facet that was asked for. */
  readonly facets: readonly (readonly ValueCount[])[]
  /** Whether all that matches was counted. */
  readonly facetsExact: boolean
  /** Many of the chunks that were searched by vector have none yet. */
  readonly vectorsPending: boolean
  readonly shortfalls: readonly Shortfall[]
}

export interface SearcherParts extends RankingParts {
  /** Of the profiles that are asked too, at this moment. */
  readonly others: () => readonly OtherEmbedder[]
  readonly cache: QueryCache
  readonly turns: FairTurns
  /** Null: the own reranker has the last word. */
  readonly crossEncoder: CrossEncoder | null
  /** Whether the index lacks documents because it is being built anew. */
  readonly isRefilling: () => boolean
}

/** An embedder besides that of the default profile; a stand-in's profile was that, which has not all vectors yet. */
export interface OtherEmbedder {
  readonly embedder: Embedder
  readonly role: 'besides' | 'stand_in'
}

type AskedEmbedder = OtherEmbedder | { readonly embedder: Embedder; readonly role: 'default' }

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
    const languages = queryLanguages(request.text, request.filters.languages)
    const vectors = isOfUse
      ? await time.spend('embedding', () => this.#queryVectors(request, languages, caller))
      : { found: [], failed: null }
    caller.signal.throwIfAborted()
    const keywordUntil = Date.now() + limits.keywordWaitMs
    const index = time.index(this.#parts.index)
    const source = time.source(this.#parts.source)
    const untils = { keywordUntil, vectorUntil }
    const asked = { request, scope, query, languages, after, caller, vectors, ...untils, index, source, time }
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
    const take = (signal: AbortSignal) => this.#parts.turns.take(new Callers(caller.id), signal)
    const endTurn = await time.spend('queue', () => withDeadline(until - Date.now(), caller.signal, take))
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
        ? await this.#keywordBranch({ ...asked, query }, request.limit, request.facets)
        : corrected
    caller.signal.throwIfAborted()
    if (outcome.outcome !== 'found') {
      const cause = causeOf(outcome, limits.keywordWaitMs)
      if (outcome.outcome === 'unavailable' || shortfalls.length > 0) throw unavailable(cause)
      return nothing(query, request.limit, { what: 'keyword_search_timed_out', cause })
    }
    return {
      found: outcome.hits.map((hit) => ({
        ...foundBy(hit, request),
        keywordScore: hit.score,
        vectorScore: null,
        explanation: request.explain ? { keyword: keywordParts(query, hit) } : null,
      })),
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
    let topK: number = isSimple ? Math.min(most, request.limit * limits.vectorCandidatesPerResult) : most
    let outcome = await this.#vectorBranch(asked, topK)
    // Too few documents among the nearest chunks, and there are further chunks: a long one has taken their places.
    if (
      topK < most &&
      outcome.outcome === 'found' &&
      outcome.hits.length < request.limit &&
      chunksOf(outcome) === topK
    ) {
      topK = most
      outcome = await this.#vectorBranch(asked, topK)
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
        ...foundBy(hit, request),
        keywordScore: null,
        vectorScore: hit.score,
        explanation: request.explain ? vectorParts(hit) : null,
      })),
      query,
      corrections: [],
      totalChunks: chunksOf(outcome),
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
    const { read, totalChunks, facets, vectorsPending } = await this.#inTurn(asked, () =>
      this.#byBoth(asked, shortfalls),
    )
    const last = await this.#crossEncoded(asked, read, shortfalls)
    asked.caller.signal.throwIfAborted()
    const found = read
      .map((one, i): FoundDocument => {
        const { documentId, keyword, cosine } = one
        const { score, rerank } = last[i]!
        return {
          documentId,
          ...shownOf(one, asked.request),
          score,
          keywordScore: keyword,
          vectorScore: cosine,
          rerankScore: score,
          explanation: asked.request.explain ? explained(one, rerank, asked.query) : null,
        }
      })
      .sort(byScore)
    return {
      found: found.slice(0, asked.request.limit),
      query: asked.query,
      corrections: [],
      totalChunks,
      topK: limits.hybridCandidatesMax,
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
  ): Promise<Pick<SearchResult, 'totalChunks' | 'facets' | 'vectorsPending'> & { read: ReadCandidate[] }> {
    const [keyword, vector] = await Promise.all([
      this.#keywordBranch({ ...asked, after: null }, limits.hybridCandidatesMax, null),
      this.#vectorBranch(asked, limits.hybridCandidatesMax),
    ])
    asked.caller.signal.throwIfAborted()
    if (vector.outcome !== 'found') shortfalls.push({ what: 'vector_search_unavailable', cause: vector.cause })
    else shortfalls.push(...partial(asked))
    if (keyword.outcome !== 'found') {
      const cause = causeOf(keyword, limits.keywordWaitMs)
      if (keyword.outcome === 'unavailable' || vector.outcome !== 'found') throw unavailable(cause)
      shortfalls.push({ what: 'keyword_search_timed_out', cause })
    }
    const keywordHits = keyword.outcome === 'found' ? keyword.hits : []
    const vectorHits = vector.outcome === 'found' ? vector.hits : []
    const near = vector.outcome === 'found' ? asked.vectors.found : []
    const { index, source } = asked
    const read = await rankCandidates(
      { ...this.#parts, index, source },
      asked,
      keywordHits,
      vectorHits,
      near,
      shortfalls,
    )
    const candidates = read.map(({ documentId, best }) => ({ documentId, versionId: best.versionId }))
    return {
      read,
      facets: await this.#countCandidates(asked, candidates),
      totalChunks: keyword.outcome === 'found' ? keyword.totalChunks : vectorHits.length,
      vectorsPending: vector.outcome === 'found' && vector.vectorsPending,
    }
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
    facets: FacetsRequest | null,
  ): Promise<KeywordOutcome> {
    const timeoutMs = keywordUntil - Date.now()
    if (timeoutMs <= 0) return { outcome: 'timed_out' }
    const otherChunksMax = request.chunks ? limits.chunksPerDocumentMax - 1 : 0
    const { filters, conditions, order, explain } = request
    const counted = facets === null ? {} : { facets }
    const asked = { query, scope, filters, conditions, order, ...counted, limit, after, otherChunksMax, timeoutMs }
    return index.keyword({ ...asked, statistics: after?.statistics, explain })
  }

  async #countCandidates(
    { request, scope, source }: Asked,
    candidates: readonly { readonly documentId: string; readonly versionId: string }[],
  ): Promise<SearchResult['facets']> {
    return request.facets === null ? [] : countCandidates(source, scope, candidates, request.facets)
  }

  /** Every trouble is one outcome, this branch is not there; a defect is not. */
  async #vectorBranch({ request, scope, vectors, vectorUntil, index }: Asked, topK: number): Promise<VectorBranch> {
    if (vectors.found.length === 0) {
      if (vectors.failed !== null) return { outcome: 'failed', cause: vectors.failed }
      return { outcome: 'found', hits: [], vectorsPending: false }
    }
    const timeoutMs = vectorUntil - Date.now()
    try {
      const outcome: NearestOutcome =
        timeoutMs <= 0
          ? { outcome: 'timed_out' }
          : await findNearest(index, vectors.found, { scope, filters: request.filters, timeoutMs }, topK)
      if (outcome.outcome === 'found') return outcome
      return { outcome: 'failed', cause: causeOf(outcome, limits.vectorWaitMs) }
    } catch (error) {
      if (isUnavailability(error)) return { outcome: 'failed', cause: error }
      throw error
    }
  }

  /**
   * The query's vectors: of the default profile, of those others whose model may know its language, and, whatever that is,
   * of those that stand in for it: they answered such queries before. A caller's own is one of the default profile.
   */
  async #queryVectors(
    request: SearchRequest,
    languages: readonly string[] | null,
    caller: Caller,
  ): Promise<QueryVectors> {
    const { embedder, others } = this.#parts
    const main: AskedEmbedder = { embedder, role: 'default' }
    if (request.queryVector !== null) {
      // No vector has ever been made: what would be compared is not there yet, which is not the same as no match.
      if (embedder.dimensions === null) {
        return { found: [], failed: new UnavailableError('the dimensions are not known yet') }
      }
      // Only the direction counts; brought to 1 first, because 32 bits do not hold every finite number.
      const largest = Math.max(...request.queryVector.map(Math.abs))
      const vector = Float32Array.from(request.queryVector, (value) => value / largest)
      return { found: [queryVector(main, vector)], failed: null }
    }
    const isAsked = ({ embedder, role }: OtherEmbedder) => role === 'stand_in' || mayKnow(embedder, languages)
    const asked: readonly AskedEmbedder[] = [main, ...others().filter(isAsked)]
    const given = await Promise.all(asked.map((one) => this.#embedded(one.embedder, request.text, caller)))
    return {
      found: asked.flatMap((one, i) => {
        const vector = given[i]
        return vector instanceof Float32Array ? queryVector(one, vector) : []
      }),
      failed: given.find((one) => one instanceof Error) ?? null,
    }
  }

  /** The vector, or why there is none. */
  async #embedded(embedder: Embedder, text: string, caller: Caller): Promise<Float32Array | Error> {
    try {
      return await withDeadline(limits.vectorWaitMs, caller.signal, (signal) =>
        this.#parts.cache.embed(embedder, text, signal, caller.id),
      )
    } catch (error) {
      if (!isUnavailability(error)) throw error
      const isLate = error instanceof EmbeddingError && error.code === 'aborted'
      return isLate ? new UnavailableError(`the query had no vector after ${limits.vectorWaitMs} ms`) : error
    }
  }

  /** The best get the cross-encoder's scores, where there is one and it answers; the others stay below them. */
  async #crossEncoded(
    { request, caller, time }: Asked,
    read: readonly ReadCandidate[],
    shortfalls: Shortfall[],
  ): Promise<readonly { readonly score: number; readonly rerank: Parts }[]> {
    const { crossEncoder } = this.#parts
    if (crossEncoder === null) return read
    const texts = read.slice(0, limits.crossEncoderMax).map(({ title, body }) => `${title}\n${body}`.trim())
    try {
      const given = await time.spend('rerank', () => crossEncoder.scores(request.text, texts, caller))
      const lowest = Math.min(...given)
      return read.map(({ score, rerank }, i) => {
        const own = given[i]
        return own === undefined
          ? { score: score * lowest, rerank: scaled(rerank, lowest) }
          : { score: own, rerank: { cross_encoder: own } }
      })
    } catch (error) {
      if (!isUnavailability(error)) throw error
      shortfalls.push({ what: 'rerank_unavailable', cause: error })
      return read
    }
  }
}

/** One search on its way through the steps. */
interface Asked {
  readonly request: SearchRequest
  readonly scope: Scope
  readonly query: KeywordQuery
  readonly after: PagePosition | null
  readonly caller: Caller
  /** Those that the query may be in; null where that is not known. */
  readonly languages: readonly string[] | null
  readonly vectors: QueryVectors
  /** When the time of a branch is over. */
  readonly keywordUntil: number
  readonly vectorUntil: number
  /** Asked so, their time counts as that of this search. */
  readonly index: AskedIndex
  readonly source: AskedSource
  readonly time: SearchTime
}

interface QueryVectors {
  /** None where none is needed, or none could be made. */
  readonly found: readonly QueryVector[]
  /** Why one or more of them could not be made. */
  readonly failed: Error | null
}

type VectorBranch =
  | Extract<NearestOutcome, { outcome: 'found' }>
  | { readonly outcome: 'failed'; readonly cause: Error }

/** Some of the query's vectors were there, and not all. */
const partial = ({ vectors }: Asked): Shortfall[] =>
  vectors.failed === null ? [] : [{ what: 'vector_search_unavailable', cause: vectors.failed }]

/** The default profile's are of all texts, and a stand-in's were when it was the default. */
const queryVector = ({ embedder, role }: AskedEmbedder, vector: Float32Array): QueryVector => ({
  profileId: embedder.profileId,
  vector,
  cosines: embedder.cosines,
  languages: role === 'besides' ? embedder.languages : null,
  isStandIn: role === 'stand_in',
})

const mayKnow = ({ languages: known }: Embedder, languages: readonly string[] | null): boolean =>
  known === null || languages === null || languages.some((language) => known.includes(language))

const chunksOf = ({ hits }: { readonly hits: readonly DocumentHit[] }): number =>
  hits.reduce((sum, { otherChunks }) => sum + 1 + otherChunks.length, 0)

function foundBy(hit: DocumentHit, request: SearchRequest) {
  return {
    documentId: hit.documentId,
    ...shownOf({ best: hit, others: hit.otherChunks }, request),
    score: hit.score,
    rerankScore: null,
  }
}

/** The chunks of a result that are shown, and no more of them than is. */
function shownOf(
  { best: { chunkId, versionId, score }, others }: Pick<FoundDocument, 'best' | 'others'>,
  { chunks }: SearchRequest,
): Pick<FoundDocument, 'best' | 'others'> {
  return {
    best: { chunkId, versionId, score },
    others: chunks ? others.slice(0, limits.chunksPerDocumentMax - 1) : [],
  }
}

function explained({ best, keyword, near, fusion }: ReadCandidate, rerank: Parts, query: KeywordQuery): Explanation {
  return {
    ...(keyword === null ? {} : { keyword: keywordParts(query, best) }),
    ...(near === null ? {} : vectorParts(near)),
    fusion,
    rerank,
  }
}

function nothing(query: KeywordQuery, topK: number, shortfall: Shortfall): SearchResult {
  return {
    found: [],
    query,
    corrections: [],
    totalChunks: 0,
    topK,
    next: null,
    facets: [],
    facetsExact: false,
    vectorsPending: false,
    shortfalls: [shortfall],
  }
}

const rebuilding: Shortfall = {
  what: 'search_index_rebuilding',
  cause: new UnavailableError('the index does not have all documents yet'),
}

function unavailable(cause: Error): TidemarkError {
  return new TidemarkError(
    'search_backend_unavailable',
    'search is not available: try again later, with growing pauses',
    {
      retryAfterSeconds: 1,
      cause,
    },
  )
}
