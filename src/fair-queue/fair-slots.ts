import type { Callers } from './callers.ts'
import { FairQueue } from './fair-queue.ts'

interface Waiting {
  readonly callers: Callers
  readonly start: (end: () => void) => void
}

/**
 * A limited number of slots, shared fairly between callers. A caller that holds no slot gets one at once, even beyond
 * the limit, so that its request does not wait behind the many requests of another caller. Other requests wait in a
 * `FairQueue`. If `everyCaller` is false, there is no such exception, and the limit is never exceeded.
 */
export class FairSlots {
  readonly #atOnce: number
  readonly #queue = new FairQueue<Waiting>()
  readonly #underWay = new Map<string, number>()
  readonly #everyCaller: boolean
  #total = 0

  constructor(atOnce: number, everyCaller = true) {
    this.#atOnce = atOnce
    this.#everyCaller = everyCaller
  }

  /** Returns the function that releases the slot, or null if the caller has to wait. */
  takeNow(caller: string): (() => void) | null {
    const isFirst = this.#everyCaller && !this.#underWay.has(caller)
    return isFirst || this.#total < this.#atOnce ? this.#begin([caller]) : null
  }

  /** Resolves with the function that releases the slot once it is granted, or with null if `signal` fires first. */
  async take(callers: Callers, signal?: AbortSignal): Promise<(() => void) | null> {
    if (signal?.aborted) return null
    const { promise, resolve } = Promise.withResolvers<(() => void) | null>()
    const waiting = { callers, start: resolve }
    for (const caller of callers.ids) this.#queue.add(caller, waiting)
    callers.onJoin = (caller) => {
      this.#queue.join(caller, waiting)
      this.#admit([caller])
    }
    const onAbort = (): void => {
      if (this.#queue.remove(waiting)) resolve(null)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#admit(callers.ids)
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
      callers.onJoin = () => {}
    }
  }

  /** Called when these callers have queued a request or released a slot. Starts waiting requests. */
  #admit(callers: readonly string[]): void {
    if (this.#everyCaller) {
      for (const caller of callers) if (!this.#underWay.has(caller)) this.#start(this.#queue.takeFor(caller))
    }
    while (this.#total < this.#atOnce && this.#queue.size > 0) this.#start(this.#queue.take())
  }

  #start(waiting: Waiting | undefined): void {
    if (waiting !== undefined) waiting.start(this.#begin(waiting.callers.ids))
  }

  #begin(ids: readonly string[]): () => void {
    this.#total++
    for (const caller of ids) this.#underWay.set(caller, (this.#underWay.get(caller) ?? 0) + 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#total--
      for (const caller of ids) {
        const left = this.#underWay.get(caller)! - 1
        if (left === 0) this.#underWay.delete(caller)
        else this.#underWay.set(caller, left)
      }
      this.#admit(ids)
    }
  }
}
