import { searchLimits as limits } from '../limits.ts'
import type { Mode } from '../parse/search-request.ts'

/**
 * The deadlines of a search for embedding and index, in terms of `Date.now()`. Waiting for a slot counts.
 *
 *   vectors    5 s from the start, for embedding the query and finding the nearest chunks
 *   words      3 s from the start of the keyword branch, which starts when the query is embedded or embedding has failed
 *   scores     3 s from the end of both branches, for scoring the documents that one branch did not find
 *   in total   3 s in keyword mode; 8 s in the others, where a keyword search may replace a failed vector search
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
