import { isUnavailability, TidemarkError } from '../../platform/errors.ts'
import { causeOf } from '../degradations.ts'
import { searchLimits as limits } from '../limits.ts'
import type { SearchRequest } from '../parse/search-request.ts'
import type { RunningSearch } from '../running-search.ts'
import type { DocumentHit, EnoughNear, KeywordOutcome, KeywordPage } from '../search-index.ts'
import type { Counts } from '../search-texts.ts'
import { type Correction, correctQuery } from './correct-query.ts'
import {
  chunksOf,
  findNearest,
  type NearestLimits,
  type NearestOutcome,
  type NearHit,
  type NearPage,
} from './nearest.ts'

/** A hit of the keyword branch, marked if only a long page has it. */
export type KeywordHit = DocumentHit & Pick<NearHit, 'isExtra'>
export type WordsPage = Omit<KeywordPage, 'hits'> & { readonly hits: readonly KeywordHit[] }

/** The hits of each branch. */
export interface Retrieved {
  /** The query as it was searched, with corrections. */
  readonly query: SearchRequest['query']
  readonly corrections: readonly Correction[]
  /** Null if the mode has no keyword branch, or the branch failed. */
  readonly words: WordsPage | null
  /** Null if the mode has no vector branch, or the branch failed. */
  readonly near: NearPage | null
  /** The number of requested candidates. */
  readonly topK: number
  /** Counts of all matches; null if only candidates can be counted. */
  readonly facets: Counts | null
}

/** The second step: searches the index by keywords, by vectors, or by both in parallel. */
export async function retrieve(running: RunningSearch, hasSlot: boolean): Promise<Retrieved> {
  switch (running.request.mode) {
    case 'keyword':
      return byWords(running, running.keywordDeadline)
    case 'vector':
      return byVector(running, hasSlot)
    case 'hybrid':
      return byBoth(running)
  }
}

async function byWords(running: RunningSearch, until: number, failedBefore = false): Promise<Retrieved> {
  const { request, caller, degradations } = running
  const corrected = await correctedQuery(running, until)
  caller.signal.throwIfAborted()
  const { query, corrections } =
    corrected.outcome === 'corrected' ? corrected : { query: request.query, corrections: [] }
  const outcome =
    corrected.outcome === 'corrected'
      ? await keywordBranch(running, { query, until, limit: request.limit, facets: request.facets })
      : corrected
  caller.signal.throwIfAborted()
  const given = { query, corrections, near: null, topK: request.limit }
  if (outcome.outcome === 'found') return { ...given, words: outcome, facets: outcome.facets ?? [] }
  const cause = causeOf(outcome, limits.keywordWaitMs)
  if (outcome.outcome === 'unavailable' || failedBefore) throw unavailable(cause)
  degradations.add('keyword_search_timed_out', cause)
  return { ...given, words: null, facets: null, corrections: [] }
}

/** Falls back to the words of the query, if it has any. */
async function byVector(running: RunningSearch, hasSlot: boolean): Promise<Retrieved> {
  const { request, vectors, deadlines } = running
  const most = limits.vectorCandidatesMax
  // With several profiles, the best document may not be among the first of any of them.
  const isSimple = !request.chunks && request.facets === null && vectors.found.length === 1
  const enough = isSimple ? { chunks: 0, documents: request.limit } : undefined
  let topK: number = isSimple ? Math.min(most, request.limit * limits.vectorCandidatesPerResult) : most
  let outcome = await vectorBranch(running, { topK, enough })
  // The nearest chunks come from too few documents, and there are more chunks, so long documents crowd out others.
  if (
    topK < most &&
    outcome.outcome === 'found' &&
    outcome.hits.length < request.limit &&
    chunksOf(outcome.hits) === topK
  ) {
    topK = most
    outcome = await vectorBranch(running, { topK, enough })
  }
  running.caller.signal.throwIfAborted()
  const near = nearOf(running, outcome)
  if (near === null && request.text !== '') {
    return byWords(running, hasSlot ? deadlines.words : running.keywordDeadline, true)
  }
  return { query: request.query, corrections: [], words: null, near, topK, facets: null }
}

async function byBoth(running: RunningSearch): Promise<Retrieved> {
  const { request, caller, degradations } = running
  const topK = hybridCandidates(request)
  const [words, vector] = await Promise.all([
    keywordBranch(running, { query: request.query, until: running.keywordDeadline, limit: topK, facets: null }),
    vectorBranch(running, {
      topK: limits.hybridCandidatesMax,
      enough: { chunks: topK, documents: limits.hybridDocumentsMin },
      first: isLong(request) ? firstNear : undefined,
    }),
  ])
  caller.signal.throwIfAborted()
  const near = nearOf(running, vector)
  const given = { query: request.query, corrections: [], near, topK, facets: null }
  if (words.outcome === 'found') return { ...given, words: isLong(request) ? marked(words) : words }
  const cause = causeOf(words, limits.keywordWaitMs)
  if (words.outcome === 'unavailable' || near === null) throw unavailable(cause)
  degradations.add('keyword_search_timed_out', cause)
  return { ...given, words: null }
}

/** Returns the query unchanged if `typo` is off. */
async function correctedQuery({ request, scope, index }: RunningSearch, until: number) {
  const { text, query, typo, filters, conditions } = request
  if (typo === 'off') return { outcome: 'corrected', query, corrections: [] } as const
  const timeoutMs = until - Date.now()
  if (timeoutMs <= 0) return { outcome: 'timed_out' } as const
  return correctQuery(index, query, { text, typo, scope, filters, conditions, timeoutMs })
}

interface KeywordBranchRequest extends Pick<SearchRequest, 'query' | 'facets'> {
  readonly until: number
  readonly limit: number
}

async function keywordBranch(
  { request, scope, paging, index }: RunningSearch,
  { until, facets, ...query }: KeywordBranchRequest,
): Promise<KeywordOutcome> {
  const timeoutMs = until - Date.now()
  if (timeoutMs <= 0) return { outcome: 'timed_out' }
  const otherChunksMax = request.chunks ? limits.chunksPerDocumentMax - 1 : 0
  const { filters, conditions, order, explain } = request
  const after = paging?.after ?? null
  const within = { scope, filters, conditions, order, after, statistics: after?.statistics, explain }
  return index.keyword({ ...query, ...within, ...(facets && { facets }), otherChunksMax, timeoutMs })
}

type VectorBranch = NearPage | { readonly outcome: 'failed'; readonly cause: Error }

/** Outages and timeouts become the outcome `failed`. Any other error is a defect and is thrown. */
async function vectorBranch(
  { request, scope, vectors, deadlines, index }: RunningSearch,
  nearestLimits: NearestLimits,
): Promise<VectorBranch> {
  if (vectors.found.length === 0) {
    if (vectors.failed !== null) return { outcome: 'failed', cause: vectors.failed }
    return { outcome: 'found', hits: [], vectorsPending: false }
  }
  const timeoutMs = deadlines.vectors - Date.now()
  try {
    const outcome: NearestOutcome =
      timeoutMs <= 0
        ? { outcome: 'timed_out' }
        : await findNearest(index, vectors.found, { scope, filters: request.filters, timeoutMs }, nearestLimits)
    if (outcome.outcome === 'found') return outcome
    return { outcome: 'failed', cause: causeOf(outcome, limits.vectorWaitMs) }
  } catch (error) {
    if (isUnavailability(error)) return { outcome: 'failed', cause: error }
    throw error
  }
}

/** Adds a degradation if the branch failed, or if some vectors of the query could not be computed. */
function nearOf({ vectors, degradations }: RunningSearch, branch: VectorBranch): NearPage | null {
  const cause = branch.outcome === 'found' ? vectors.failed : branch.cause
  if (cause !== null) degradations.add('vector_search_unavailable', cause)
  return branch.outcome === 'found' ? branch : null
}

/**
 * Whether a hybrid search uses extra candidates: if the first ones may not fill the page, or if the answer has facets
 * or chunks, which must not depend on the length of the page.
 */
const isLong = ({ limit, facets, chunks }: SearchRequest): boolean =>
  limit > limits.hybridDocumentsMin || facets !== null || chunks

const hybridCandidates = (request: SearchRequest): number =>
  isLong(request) ? limits.hybridCandidatesMax : limits.hybridCandidates

const firstNear: EnoughNear = { chunks: limits.hybridCandidates, documents: limits.hybridDocumentsMin }

const marked = (words: KeywordPage): WordsPage => ({
  ...words,
  hits: words.hits.map((hit, i) => (i < limits.hybridCandidates ? hit : { ...hit, isExtra: true })),
})

const unavailable = (cause: Error): TidemarkError =>
  new TidemarkError('search_backend_unavailable', 'search is unavailable: try again later, with growing pauses', {
    retryAfterSeconds: 1,
    cause,
  })
