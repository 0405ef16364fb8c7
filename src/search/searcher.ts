import { readableFields, type Scope } from '../access/scope.ts'
import type { Caller } from '../caller.ts'
import { type Embedder, knowsLanguage } from '../embedding/embedder.ts'
import type { QueryCache } from '../embedding/query-cache.ts'
import { withDeadline } from '../embedding/with-deadline.ts'
import { isUnavailability, TidemarkError, UnavailableError } from '../errors.ts'
import { guessLanguage } from '../text/guess-language.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { KeywordQuery } from '../text/types.ts'
import type { CrossEncoder } from './cross-encoder.ts'
import { type Candidate, type FusionWeights, fuse } from './fuse.ts'
import type { ChunkText, IndexSource, ResultDocument, ShownChunk } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import { type RerankWeights, rerankerOf } from './rerank.ts'
import type {
  ChunkScore,
  DocumentHit,
  KeywordOutcome,
  KeywordPosition,
  SearchIndex,
  TimedOut,
  Unavailable,
  VectorOutcome,
} from './search-index.ts'
import type { SearchRequest } from './search-request.ts'

export type Warning =
  | 'vector_search_unavailable'
  | 'keyword_search_timed_out'
  | 'live_query_unavailable'
  | 'search_index_rebuilding'

/** What an answer lacks, and of what it failed: the first for the caller, the second for the log alone. */
export interface Shortfall {
  /** Where the cross-encoder is no help the order is the own reranker's, which is no warning to the caller. */
  readonly what: Warning | 'rerank_unavailable'
  readonly cause: unknown
}

/** A result before it is put into the words and permissions of the answer. */
export interface Found {
  readonly documentId: string
  readonly best: ChunkScore
  readonly others: readonly ChunkScore[]
  /** The best chunk, where the search has read it already. */
  readonly shown: ShownChunk | null
  readonly score: number
  readonly keywordScore: number | null
  readonly vectorScore: number | null
  readonly rerankScore: number | null
}

export interface SearchResult {
  readonly found: readonly Found[]
  readonly query: KeywordQuery
  readonly totalChunks: number
  readonly topK: number
  readonly next: KeywordPosition | null
  readonly shortfalls: readonly Shortfall[]
}

export interface SearcherParts {
  readonly index: SearchIndex
  readonly source: IndexSource
  readonly embedder: Embedder
  readonly cache: QueryCache
  readonly weights: FusionWeights
  readonly rerankWeights: RerankWeights
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
    after: KeywordPosition | null,
    caller: Caller,
  ): Promise<SearchResult> {
    // Asked before: what the last step of the refilling adds may come too late for this search.
    const isRefilling = this.#parts.isRefilling()
    const result = await this.#searchBy(request, scope, after, caller)
    return isRefilling ? { ...result, shortfalls: [...result.shortfalls, rebuilding] } : result
  }

  #searchBy(
    request: SearchRequest,
    scope: Scope,
    after: KeywordPosition | null,
    caller: Caller,
  ): Promise<SearchResult> {
    const query = parseQuery(request.text, request.filters.languages)
    switch (request.mode) {
      case 'keyword':
        return this.#keyword(request, scope, query, after, caller, [])
      case 'vector':
        return this.#vector(request, scope, query, caller)
      case 'hybrid':
        return this.#hybrid(request, scope, query, caller)
    }
  }

  async #keyword(
    request: SearchRequest,
    scope: Scope,
    query: KeywordQuery,
    after: KeywordPosition | null,
    caller: Caller,
    shortfalls: readonly Shortfall[],
  ): Promise<SearchResult> {
    const outcome = await this.#keywordBranch(request, scope, query, request.limit, after, caller)
    caller.signal.throwIfAborted()
    if (outcome.outcome !== 'found') {
      const cause = causeOf(outcome, limits.keywordWaitMs)
      if (outcome.outcome === 'unavailable' || shortfalls.length > 0) throw unavailable(cause)
      return nothing(query, request.limit, { what: 'keyword_search_timed_out', cause })
    }
    return {
      found: outcome.hits.map((hit) => ({ ...foundBy(hit), keywordScore: hit.score, vectorScore: null })),
      query,
      totalChunks: outcome.totalChunks,
      topK: request.limit,
      next: outcome.next,
      shortfalls,
    }
  }

  /** Falls back to the words of the query, where there are any. */
  async #vector(request: SearchRequest, scope: Scope, query: KeywordQuery, caller: Caller): Promise<SearchResult> {
    const most = limits.vectorCandidatesMax
    let topK: number = request.chunks ? most : Math.min(most, request.limit * limits.vectorCandidatesPerResult)
    const startedAt = Date.now()
    let outcome = await this.#vectorBranch(request, scope, topK, caller, startedAt)
    // Too few documents among the nearest chunks, and there are further chunks: a long one has taken their places.
    if (
      topK < most &&
      outcome.outcome === 'found' &&
      outcome.hits.length < request.limit &&
      chunksOf(outcome) === topK
    ) {
      topK = most
      outcome = await this.#vectorBranch(request, scope, topK, caller, startedAt)
    }
    caller.signal.throwIfAborted()
    if (outcome.outcome !== 'found') {
      const shortfall: Shortfall = { what: 'vector_search_unavailable', cause: outcome.cause }
      if (request.text === '') return nothing(query, topK, shortfall)
      const fallback = await this.#keyword(request, scope, query, null, caller, [shortfall])
      return { ...fallback, next: null }
    }
    return {
      found: outcome.hits
        .slice(0, request.limit)
        .map((hit) => ({ ...foundBy(hit), keywordScore: null, vectorScore: hit.score })),
      query,
      totalChunks: chunksOf(outcome),
      topK,
      next: null,
      shortfalls: [],
    }
  }

  async #hybrid(request: SearchRequest, scope: Scope, query: KeywordQuery, caller: Caller): Promise<SearchResult> {
    const [keyword, vector] = await Promise.all([
      this.#keywordBranch(request, scope, query, limits.hybridCandidatesMax, null, caller),
      this.#vectorBranch(request, scope, limits.hybridCandidatesMax, caller),
    ])
    caller.signal.throwIfAborted()
    const shortfalls: Shortfall[] = []
    if (vector.outcome !== 'found') shortfalls.push({ what: 'vector_search_unavailable', cause: vector.cause })
    if (keyword.outcome !== 'found') {
      const cause = causeOf(keyword, limits.keywordWaitMs)
      if (keyword.outcome === 'unavailable' || vector.outcome !== 'found') throw unavailable(cause)
      shortfalls.push({ what: 'keyword_search_timed_out', cause })
    }
    const keywordHits = keyword.outcome === 'found' ? keyword.hits : []
    const vectorHits = vector.outcome === 'found' ? vector.hits : []
    const found = await this.#fused(
      request,
      scope,
      query,
      keywordHits,
      vectorHits,
      vector.outcome === 'found' ? vector.vector : null,
      caller,
      shortfalls,
    )
    return {
      found: found.slice(0, request.limit),
      query,
      totalChunks: keyword.outcome === 'found' ? keyword.totalChunks : vectorHits.length,
      topK: limits.hybridCandidatesMax,
      next: null,
      shortfalls,
    }
  }

  #keywordBranch(
    request: SearchRequest,
    scope: Scope,
    query: KeywordQuery,
    limit: number,
    after: KeywordPosition | null,
    caller: Caller,
  ): Promise<KeywordOutcome> {
    const otherChunksMax = request.chunks ? limits.chunksPerDocumentMax - 1 : 0
    const { filters } = request
    return this.#parts.index.keyword(
      { query, scope, filters, limit, after, otherChunksMax, timeoutMs: limits.keywordWaitMs },
      caller,
    )
  }

  /** Embedding and search share one time limit. Every trouble is one outcome, this branch is not there; a defect is not. */
  async #vectorBranch(
    request: SearchRequest,
    scope: Scope,
    topK: number,
    caller: Caller,
    startedAt = Date.now(),
  ): Promise<(VectorOutcome & { outcome: 'found'; vector: Float32Array }) | { outcome: 'failed'; cause: Error }> {
    try {
      const leftMs = (): number => Math.max(1, limits.vectorWaitMs - (Date.now() - startedAt))
      const vector = await this.#queryVector(request, leftMs(), caller)
      const { profileId } = this.#parts.embedder
      const outcome = await this.#parts.index.vector(
        { profileId, vector, scope, filters: request.filters, topK, timeoutMs: leftMs() },
        caller,
      )
      if (outcome.outcome === 'found') return { ...outcome, vector }
      return { outcome: 'failed', cause: causeOf(outcome, limits.vectorWaitMs) }
    } catch (error) {
      if (isUnavailability(error)) return { outcome: 'failed', cause: error }
      throw error
    }
  }

  async #queryVector(request: SearchRequest, withinMs: number, caller: Caller): Promise<Float32Array> {
    if (request.queryVector !== null) {
      // No vector has ever been made: what would be compared is not there yet, which is not the same as no match.
      if (this.#parts.embedder.dimensions === null) throw new UnavailableError('the dimensions are not known yet')
      // Only the direction counts; brought to 1 first, because 32 bits do not hold every finite number.
      const largest = Math.max(...request.queryVector.map(Math.abs))
      return Float32Array.from(request.queryVector, (value) => value / largest)
    }
    return withDeadline(withinMs, caller.signal, (signal) =>
      this.#parts.cache.embed(this.#parts.embedder, request.text, signal, caller.id),
    )
  }

  /** Both branches' candidates with both scores, fused, and the best of them reranked. Does not depend on the limit. */
  async #fused(
    request: SearchRequest,
    scope: Scope,
    query: KeywordQuery,
    keywordHits: readonly DocumentHit[],
    vectorHits: readonly DocumentHit[],
    vector: Float32Array | null,
    caller: Caller,
    shortfalls: Shortfall[],
  ): Promise<Found[]> {
    const hits = new Map<string, { keyword: DocumentHit | null; vector: DocumentHit | null }>()
    for (const hit of keywordHits) hits.set(hit.documentId, { keyword: hit, vector: null })
    for (const hit of vectorHits)
      hits.set(hit.documentId, { keyword: hits.get(hit.documentId)?.keyword ?? null, vector: hit })
    const documentIds = [...hits.keys()]
    if (documentIds.length === 0) return []
    const { embedder, index, source } = this.#parts
    const near = vector === null ? null : { profileId: embedder.profileId, vector }
    /** What one branch would have given to the documents that only the other one found. */
    const completed = async (missing: 'keyword' | 'vector'): Promise<ReadonlyMap<string, ChunkScore | null>> => {
      const lacking = documentIds.filter((documentId) => hits.get(documentId)![missing] === null)
      if (lacking.length === 0) return new Map()
      const asked = {
        documentIds: lacking,
        query: missing === 'keyword' ? query : null,
        vector: missing === 'vector' ? near : null,
        scope,
        filters: request.filters,
        timeoutMs: limits.keywordWaitMs,
      }
      const scored = await index.score(asked, caller)
      if (scored.outcome === 'found') return new Map(scored.scores.map((one) => [one.documentId, one[missing]]))
      const what = missing === 'keyword' ? 'keyword_search_timed_out' : 'vector_search_unavailable'
      const cause = causeOf(scored, limits.keywordWaitMs)
      if (shortfalls.every((known) => known.what !== what)) shortfalls.push({ what, cause })
      return new Map()
    }
    const [keywordScores, vectorScores, documents] = await Promise.all([
      completed('keyword'),
      near === null ? new Map<string, ChunkScore>() : completed('vector'),
      source.results(documentIds),
    ])
    caller.signal.throwIfAborted()
    // The caller's own vector is taken at its word; of a text in a language unknown to the model it would say nothing.
    const queryKnown = request.queryVector !== null || knowsLanguage(embedder, guessLanguage(request.text))
    const isMarked = query.clauses.some(({ kind }) => kind !== 'any')
    const found = documents.flatMap((document) => {
      const hit = hits.get(document.documentId)!
      const byWords = hit.keyword ?? keywordScores.get(document.documentId) ?? null
      const best = byWords ?? hit.vector
      const keyword = byWords?.score ?? null
      // What was demanded or excluded by a sign is so for the vector branch too.
      return best === null || (isMarked && keyword === null) ? [] : [{ document, hit, best, keyword }]
    })
    const candidates = (await this.#asFound(found)).map(
      ({ document, hit, best, keyword }): RankedCandidate => ({
        documentId: document.documentId,
        keyword,
        cosine: (hit.vector ?? vectorScores.get(document.documentId))?.score ?? null,
        quality: document.quality,
        publishedAt: document.publishedAt,
        languageKnown: queryKnown && knowsLanguage(embedder, document.language),
        document,
        best,
        others: (hit.keyword ?? hit.vector)?.otherChunks.filter(({ chunkId }) => chunkId !== best.chunkId) ?? [],
      }),
    )
    const fused = fuse(candidates, this.#parts.weights, Date.now())
    const ranked = candidates.map((candidate, i) => ({ ...candidate, score: fused[i]! })).sort(byScore)
    return this.#reranked(ranked, request.text, query, scope, shortfalls)
  }

  /** Documents of which an earlier version was found have the title and the language of that one: it is what is read. */
  async #asFound<One extends { readonly document: ResultDocument; readonly best: ChunkScore }>(
    found: readonly One[],
  ): Promise<readonly One[]> {
    const earlier = found.filter(({ document, best }) => best.versionId !== document.currentVersionId)
    if (earlier.length === 0) return found
    const heads = await this.#parts.source.versionHeads(earlier.map(({ best }) => best.versionId))
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
  async #reranked(
    ranked: readonly (RankedCandidate & { readonly score: number })[],
    queryText: string,
    query: KeywordQuery,
    scope: Scope,
    shortfalls: Shortfall[],
  ): Promise<Found[]> {
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
    for (const text of await this.#parts.source.chunkTexts(bodies)) texts.set(text.chunkId, text)
    const rerank = rerankerOf(query, queryText, this.#parts.rerankWeights)
    const read = opened.map((one) => {
      const text = texts.get(one.best.chunkId)
      const title = head.has(one) ? (one.title ?? '') : ''
      const body = text?.text ?? ''
      const shown = text === undefined ? null : { ...text, document: one.document }
      const score = rerank({ score: one.score, title, body, language: one.document.language })
      return { ...one, title, body, shown, score }
    })
    read.sort(byScore)
    const scores = await this.#crossEncoded(queryText, read, shortfalls)
    return read
      .map(
        ({ documentId, best, others, shown, keyword, cosine }, i): Found => ({
          documentId,
          best,
          others,
          shown,
          score: scores[i]!,
          keywordScore: keyword,
          vectorScore: cosine,
          rerankScore: scores[i]!,
        }),
      )
      .sort(byScore)
  }

  /** The best get the cross-encoder's scores, where there is one and it answers; the others stay below them. */
  async #crossEncoded(
    queryText: string,
    read: readonly { readonly score: number; readonly title: string; readonly body: string }[],
    shortfalls: Shortfall[],
  ): Promise<number[]> {
    const own = read.map(({ score }) => score)
    const { crossEncoder } = this.#parts
    if (crossEncoder === null) return own
    const texts = read.slice(0, limits.crossEncoderMax).map(({ title, body }) => `${title}\n${body}`.trim())
    try {
      const given = await crossEncoder.scores(queryText, texts)
      const lowest = Math.min(...given)
      return own.map((score, i) => given[i] ?? score * lowest)
    } catch (error) {
      if (!isUnavailability(error)) throw error
      shortfalls.push({ what: 'rerank_unavailable', cause: error })
      return own
    }
  }
}

interface RankedCandidate extends Candidate {
  readonly document: ResultDocument
  readonly best: ChunkScore
  readonly others: readonly ChunkScore[]
}

const chunksOf = ({ hits }: { readonly hits: readonly DocumentHit[] }): number =>
  hits.reduce((sum, { otherChunks }) => sum + 1 + otherChunks.length, 0)

function foundBy(hit: DocumentHit) {
  return {
    documentId: hit.documentId,
    best: hit,
    others: hit.otherChunks,
    shown: null,
    score: hit.score,
    rerankScore: null,
  }
}

interface Scored {
  readonly documentId: string
  readonly score: number
}

const byScore = (a: Scored, b: Scored): number => b.score - a.score || (a.documentId < b.documentId ? -1 : 1)

function nothing(query: KeywordQuery, topK: number, shortfall: Shortfall): SearchResult {
  return { found: [], query, totalChunks: 0, topK, next: null, shortfalls: [shortfall] }
}

const rebuilding: Shortfall = {
  what: 'search_index_rebuilding',
  cause: new UnavailableError('the index does not have all documents yet'),
}

function causeOf(outcome: TimedOut | Unavailable, waitMs: number): UnavailableError {
  return new UnavailableError(
    outcome.outcome === 'unavailable' ? `the index: ${outcome.reason}` : `the index did not answer within ${waitMs} ms`,
  )
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
