import { UnavailableError } from '../errors.ts'
import type { TimedOut, Unavailable } from './search-index.ts'

/** What makes an answer degraded. */
type Degradation =
  | 'vector_search_unavailable'
  | 'keyword_search_timed_out'
  | 'live_query_unavailable'
  | 'search_index_rebuilding'

/** Vectors that are still to be made are no fault: the answer is as good as it can be yet. */
export type Warning = Degradation | 'vectors_pending'

/** What an answer lacks, and of what it failed: the first for the caller, the second for the log alone. */
export interface Shortfall {
  /** Where the cross-encoder is no help the order is the own reranker's, which is no warning to the caller. */
  readonly what: Degradation | 'rerank_unavailable'
  /** Null for a state that is no failure, and that the log has where it begins and ends. */
  readonly cause: unknown
}

/** Of a branch that the index did not answer. */
export function causeOf(outcome: TimedOut | Unavailable, waitMs: number): UnavailableError {
  return new UnavailableError(
    outcome.outcome === 'unavailable' ? `the index: ${outcome.reason}` : `the index did not answer within ${waitMs} ms`,
  )
}
