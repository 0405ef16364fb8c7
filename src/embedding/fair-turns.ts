import { FairQueue } from '../fair-queue.ts'
import type { Callers } from './callers.ts'
import { abortedError } from './embedding-error.ts'

/** At most so many at once; what has to wait does so in turn between callers, and leaves when nobody waits for it. */
export class FairTurns {
  readonly #queue = new FairQueue<{ readonly start: () => void }>()
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async run<T>(callers: Callers, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#turn(callers, signal)
    try {
      return await work()
    } finally {
      this.#free++
      this.#startNext()
    }
  }

  async #turn(callers: Callers, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { start: resolve }
    for (const caller of callers.ids) this.#queue.add(caller, waiting)
    callers.onJoin = (caller) => this.#queue.join(caller, waiting)
    const onAbort = (): void => {
      if (this.#queue.remove(waiting)) reject(abortedError())
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#startNext()
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
      callers.onJoin = () => {}
    }
  }

  #startNext(): void {
    if (this.#free === 0) return
    const next = this.#queue.take()
    if (next === undefined) return
    this.#free--
    next.start()
  }
}
