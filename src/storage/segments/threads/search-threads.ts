import { isUnavailability } from '../../../platform/errors.ts'
import type { Pool } from '../../../threads/pool.ts'
import type { Control } from '../memory/control.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { findTerms } from '../query/plan-keyword.ts'
import type { Outcome, ReaderCall, SearchReply, SplitCall } from '../query/reader-calls.ts'
import { canBeSplit, type IndexPart, mergeReplies, type SearchPart, wholeIndex } from '../query/split-search.ts'

/**
 * After the parts of a search have seen different states of the index, because it changes fast, no search is split for
 * this long.
 */
const unsplitMs = 20

/** Every part repeats the later steps of a vector search, so more parts would waste too much CPU. */
const partsMax = 4

/** Scoring a posting takes about as long as comparing the binary codes of so many vectors. */
const chunksPerPosting = 12

/**
 * Assigns searches to threads, one at a time each. Several threads share a large search if there are enough threads for
 * all searches of its kind in progress. So a single search gets all cores of a small machine, and concurrent ones get
 * one each, because a shared search takes a sixth to a quarter more CPU. Searches are counted by kind, because a hybrid
 * search is one of each at once.
 */
export class SearchThreads {
  readonly #threads: Pool
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #splitFromChunks: number
  readonly #parts: readonly IndexPart[]
  readonly #inProgress = new Map<ReaderCall['call'], number>()
  #unsplitUntil = 0

  constructor(threads: Pool, control: Control, dictionary: TermDictionary, splitFromChunks: number) {
    this.#threads = threads
    this.#control = control
    this.#dictionary = dictionary
    this.#splitFromChunks = splitFromChunks
    const of = Math.min(partsMax, threads.size)
    this.#parts = Array.from({ length: of }, (_, number) => ({ number, of }))
  }

  async search(message: ReaderCall): Promise<Outcome> {
    const deadline = performance.timeOrigin + performance.now() + message.request.timeoutMs
    const isShared = this.#isShared(message)
    this.#count(message.call, 1)
    try {
      if (isShared) {
        const replies = this.#parts.map((part) => this.#call(message, deadline, part))
        const merged = mergeReplies(message as SplitCall, await Promise.all(replies))
        if (merged !== null) return merged
        this.#unsplitUntil = performance.now() + unsplitMs
      }
      return (await this.#call(message, deadline, wholeIndex)).outcome
    } finally {
      this.#count(message.call, -1)
    }
  }

  #count(call: ReaderCall['call'], more: number): void {
    this.#inProgress.set(call, (this.#inProgress.get(call) ?? 0) + more)
  }

  #isShared(message: ReaderCall): boolean {
    const parts = this.#parts.length
    const withThis = (this.#inProgress.get(message.call) ?? 0) + 1
    if (parts === 1 || withThis * parts > this.#threads.serving || !canBeSplit(message)) return false
    return performance.now() >= this.#unsplitUntil && this.#workOf(message) >= this.#splitFromChunks
  }

  /** In chunks whose vectors are compared; -1 for work that cannot be shared. */
  #workOf({ call, request }: ReaderCall): number {
    if (call === 'vector') return this.#control.chunks
    if (call !== 'keyword') return -1
    const terms = findTerms(request.query, this.#dictionary).values()
    return chunksPerPosting * terms.reduce((sum, term) => sum + this.#dictionary.postings[term]!, 0)
  }

  /** A search whose thread ended is not repeated, because it may be the cause. */
  async #call(call: ReaderCall, deadline: number, part: IndexPart): Promise<SearchReply> {
    try {
      return (await this.#threads.call({ call, deadline, part } satisfies SearchPart)) as SearchReply
    } catch (error) {
      if (!isUnavailability(error)) throw error
      return { outcome: { outcome: 'unavailable', reason: error.message }, state: null }
    }
  }
}
