import type { Unavailable } from '../../search/search-index.ts'
import type { Control } from './control.ts'
import type { Outcome, ReaderCall, SearchReply } from './protocol.ts'
import { mergeReplies, type Part, wholeIndex } from './split-search.ts'
import type { ThreadCalls } from './thread-calls.ts'

/** While the index changes so fast that parts of a search saw different states of it, none is split for this long. */
const unsplitMs = 1000

interface Thread {
  readonly calls: ThreadCalls
  busy: boolean
}

interface Waiting {
  readonly message: ReaderCall
  /** On the shared wall clock, because each thread's `performance.now()` starts at its own zero. */
  readonly deadline: number
  readonly part: Part
  readonly resolve: (reply: SearchReply) => void
}

/**
 * Hands searches to the threads that answer them, one at a time each. While fewer searches than threads are under way, a
 * search of a large index is split among them all: whoever is alone gets all cores, and many get one each.
 */
export class SearchThreads {
  readonly #threads: readonly Thread[]
  readonly #control: Control
  readonly #splitFromChunks: number
  readonly #queue: Waiting[] = []
  #underWay = 0
  #unsplitUntil = 0

  constructor(threads: readonly ThreadCalls[], control: Control, splitFromChunks: number) {
    this.#threads = threads.map((calls) => ({ calls, busy: false }))
    this.#control = control
    this.#splitFromChunks = splitFromChunks
  }

  async search(message: ReaderCall): Promise<Outcome> {
    const deadline = performance.timeOrigin + performance.now() + message.request.timeoutMs
    const isSplit = (message.call === 'keyword' || message.call === 'vector') && this.#maySplit()
    this.#underWay++
    try {
      if (isSplit) {
        const of = this.#threads.length
        const parts = this.#threads.map((_, number) => this.#ask(message, deadline, { number, of }))
        const merged = mergeReplies(message, await Promise.all(parts))
        if (merged !== null) return merged
        this.#unsplitUntil = performance.now() + unsplitMs
      }
      return (await this.#ask(message, deadline, wholeIndex)).outcome
    } finally {
      this.#underWay--
    }
  }

  /** What waits is answered at once. */
  giveUp(outcome: Unavailable): void {
    for (const { resolve } of this.#queue.splice(0)) resolve({ outcome, state: null })
  }

  #maySplit(): boolean {
    if (this.#threads.length === 1 || this.#underWay >= this.#threads.length) return false
    return this.#control.chunks >= this.#splitFromChunks && performance.now() >= this.#unsplitUntil
  }

  #ask(message: ReaderCall, deadline: number, part: Part): Promise<SearchReply> {
    return new Promise((resolve) => {
      this.#queue.push({ message, deadline, part, resolve })
      this.#dispatch()
    })
  }

  #dispatch(): void {
    for (const thread of this.#threads) {
      if (thread.busy) continue
      const next = this.#queue.shift()
      if (next === undefined) return
      thread.busy = true
      const { message, deadline, part, resolve } = next
      thread.calls
        .call({ ...message, deadline, part })
        .catch(
          (error: Error): SearchReply => ({
            outcome: { outcome: 'unavailable', reason: error.message },
            state: null,
          }),
        )
        .then((reply) => {
          thread.busy = false
          this.#dispatch()
          resolve(reply as SearchReply)
        })
    }
  }
}
