import { UnavailableError } from '../platform/errors.ts'
import type { TimedOut, Unavailable } from './search-index.ts'

/** Reasons for a degraded answer. */
type Degradation =
  | 'vector_search_unavailable'
  | 'keyword_search_timed_out'
  | 'live_query_unavailable'
  | 'search_index_rebuilding'
  | 'search_index_behind'

/** Missing vectors that are still to be made are not a failure: the answer is as good as it can be now. */
export type Warning = Degradation | 'vectors_pending'

/** A part that an answer lacks, and the cause: the first is for the caller, the second only for the log. */
export interface Shortfall {
  /** If the cross-encoder fails, the order is that of the built-in reranker, and the caller gets no warning. */
  readonly what: Degradation | 'rerank_unavailable'
  /** Null for a state that is not a failure; the log reports when it begins and ends. */
  readonly cause: unknown
}

/** Everything that one search could not give, in the order in which it was noticed. */
export class Shortfalls {
  readonly #all: Shortfall[] = []

  /** Keeps the first cause of each. */
  add(what: Shortfall['what'], cause: unknown): void {
    if (!this.has(what)) this.#all.push({ what, cause })
  }

  has(what: Shortfall['what']): boolean {
    return this.#all.some((one) => one.what === what)
  }

  get all(): readonly Shortfall[] {
    return this.#all
  }
}

/** The cause if the index did not answer a branch. */
export function causeOf(outcome: TimedOut | Unavailable, waitMs: number): UnavailableError {
  return new UnavailableError(
    outcome.outcome === 'unavailable' ? `the index: ${outcome.reason}` : `the index did not answer within ${waitMs} ms`,
  )
}
