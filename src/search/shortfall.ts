import { UnavailableError } from '../errors.ts'
import type { TimedOut, Unavailable } from './search-index.ts'

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

/** Of a branch that the index did not answer. */
export function causeOf(outcome: TimedOut | Unavailable, waitMs: number): UnavailableError {
  return new UnavailableError(
    outcome.outcome === 'unavailable' ? `the index: ${outcome.reason}` : `the index did not answer within ${waitMs} ms`,
  )
}
