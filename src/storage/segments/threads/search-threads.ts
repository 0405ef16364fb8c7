import { isUnavailability } from '../../../errors.ts'
import type { Pool } from '../../../threads/pool.ts'
import type { Control } from '../memory/control.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { findTerms } from '../query/plan-keyword.ts'
import type { Outcome, ReaderCall, SearchReply, SplitCall } from '../query/reader-calls.ts'
import { canBeSplit, type IndexPart, mergeReplies, type SearchPart, wholeIndex } from '../query/split-search.ts'

/** While the index changes so fast that parts of a search saw different states of it, none is split for this long. */
const unsplitMs = 20

/** More would do the later steps of a vector search, which every part does for itself, too often. */
const partsMax = 4

/** A posting that is scored takes about as long as so many vectors that are compared by their signs. */
const chunksPerPosting = 12

/**
 * Hands searches to the threads that answer them, one at a time each. A large search is shared by several while there are
 * threads enough for all of its kind that are under way: whoever is alone gets all cores of a small machine, and many get one
 * each, for what is shared takes a sixth to a quarter more of them. By kind, because a hybrid search is one of each at once.
 */
export class SearchThreads {
  readonly #threads: Pool
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #splitFromChunks: number
  readonly #parts: readonly IndexPart[]
  readonly #underWay = new Map<ReaderCall['call'], number>()
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
        const replies = this.#parts.map((part) => this.#ask(message, deadline, part))
        const merged = mergeReplies(message as SplitCall, await Promise.all(replies))
        if (merged !== null) return merged
        this.#unsplitUntil = performance.now() + unsplitMs
      }
      return (await this.#ask(message, deadline, wholeIndex)).outcome
    } finally {
      this.#count(message.call, -1)
    }
  }

  #count(call: ReaderCall['call'], more: number): void {
    this.#underWay.set(call, (this.#underWay.get(call) ?? 0) + more)
  }

  #isShared(message: ReaderCall): boolean {
    const parts = this.#parts.length
    const withThis = (this.#underWay.get(message.call) ?? 0) + 1
    if (parts === 1 || withThis * parts > this.#threads.serving || !canBeSplit(message)) return false
    return performance.now() >= this.#unsplitUntil && this.#workOf(message) >= this.#splitFromChunks
  }

  /** In chunks whose vectors are compared; what is done by one thread alone counts for nothing. */
  #workOf({ call, request }: ReaderCall): number {
    if (call === 'vector') return this.#control.chunks
    if (call !== 'keyword') return -1
    const terms = findTerms(request.query, this.#dictionary).values()
    return chunksPerPosting * terms.reduce((sum, term) => sum + this.#dictionary.postings[term]!, 0)
  }

  /** A search that its thread took with it is not tried again: it may be what the thread died of. */
  async #ask(call: ReaderCall, deadline: number, part: IndexPart): Promise<SearchReply> {
    try {
      return (await this.#threads.call({ call, deadline, part } satisfies SearchPart)) as SearchReply
    } catch (error) {
      if (!isUnavailability(error)) throw error
      return { outcome: { outcome: 'unavailable', reason: error.message }, state: null }
    }
  }
}
