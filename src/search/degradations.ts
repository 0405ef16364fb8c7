import { UnavailableError } from '../platform/errors.ts'
import type { TimedOut, Unavailable } from './search-index.ts'

/** Reasons for a degraded answer, as the caller gets them in `warnings`. */
type ReportedDegradation =
  | 'vector_search_unavailable'
  | 'keyword_search_timed_out'
  | 'live_query_unavailable'
  | 'search_index_rebuilding'
  | 'search_index_behind'

/** Vectors that are still to be computed are not a failure: the answer is as good as it can be now. */
export type Warning = ReportedDegradation | 'vectors_pending'

/** A part that is missing from an answer. The code is for the caller, the cause only for the log. */
export interface Degradation {
  /** If the cross-encoder fails, the built-in reranker decides the order, and the caller gets no warning. */
  readonly code: ReportedDegradation | 'rerank_unavailable'
  /** Null for a state that is not a failure; the log reports when it begins and ends. */
  readonly cause: unknown
}

/** The degradations of one search, in the order in which they occurred. */
export class Degradations {
  readonly #all: Degradation[] = []

  /** Keeps the first cause of each code. */
  add(code: Degradation['code'], cause: unknown): void {
    if (!this.has(code)) this.#all.push({ code, cause })
  }

  has(code: Degradation['code']): boolean {
    return this.#all.some((one) => one.code === code)
  }

  get all(): readonly Degradation[] {
    return this.#all
  }
}

/** The error to log if the index did not answer a branch. */
export function causeOf(outcome: TimedOut | Unavailable, waitMs: number): UnavailableError {
  return new UnavailableError(
    outcome.outcome === 'unavailable' ? `the index: ${outcome.reason}` : `the index did not answer within ${waitMs} ms`,
  )
}
