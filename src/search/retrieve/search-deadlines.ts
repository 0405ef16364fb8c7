import { searchLimits as limits } from '../limits.ts'
import type { Mode } from '../parse/search-request.ts'

/**
 * The deadlines of a search for embedding and index, in terms of `Date.now()`. Waiting for a slot counts.
 *
 *   vectors    5 s from the start: embedding the query and finding the nearest chunks
 *   words      3 s from when the keyword branch can start: at once, or when the query has its vector or will not get one
 *   scores     3 s from the end of both branches: scoring the documents that one branch lacks
 *   all of it  3 s in keyword mode, 8 s in the others, where keywords may replace vectors that did not come
 */
export class SearchDeadlines {
  readonly vectors: number
  readonly #all: number

  constructor(mode: Mode) {
    const now = Date.now()
    this.vectors = now + limits.vectorWaitMs
    this.#all = now + (mode === 'keyword' ? 0 : limits.vectorWaitMs) + limits.keywordWaitMs
  }

  /** The deadline for keyword requests and scores that start now. */
  get words(): number {
    return Math.min(Date.now() + limits.keywordWaitMs, this.#all)
  }
}
