import { type Incidents, silentIncidents } from '../platform/incidents.ts'

const pollEveryMs = 1000

/**
 * Wakes readers that wait at the end of the feed. One timer and one query to the store serve all of them, and only
 * while a reader waits. Events of this process wake them at once, events of another process within `pollEveryMs`.
 */
export class ChangeSignal {
  #waiting = new Set<() => void>()
  #newest: () => Promise<number>
  #timer: NodeJS.Timeout | null = null
  #lastNewest = -1
  #closed = false
  #incidents: Incidents

  /** `newest` returns the newest sequence in the store. */
  constructor(newest: () => Promise<number>, incidents: Incidents = silentIncidents) {
    this.#newest = newest
    this.#incidents = incidents
  }

  /**
   * `woken` resolves at the next event, after the timeout, or when `aborted` fires, whichever is first. A caller that
   * does not wait after all must call `stop`, which releases the timer.
   */
  wait(timeoutMs: number, aborted: AbortSignal): { readonly woken: Promise<void>; stop(): void } {
    if (this.#closed || timeoutMs <= 0 || aborted.aborted) return { woken: Promise.resolve(), stop: () => {} }
    const { promise: woken, resolve } = Promise.withResolvers<void>()
    const stop = (): void => {
      clearTimeout(timer)
      aborted.removeEventListener('abort', stop)
      this.#waiting.delete(stop)
      if (this.#waiting.size === 0) this.#stopPolling()
      resolve()
    }
    const timer = setTimeout(stop, timeoutMs)
    aborted.addEventListener('abort', stop)
    this.#waiting.add(stop)
    this.#timer ??= setInterval(() => void this.#poll(), pollEveryMs)
    return { woken, stop }
  }

  /** The number of readers that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  get isClosed(): boolean {
    return this.#closed
  }

  notify(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  /**
   * Records that a reader has reached the end of the feed at this position. The poll compares later positions with it.
   * Wakes readers that began to wait at an earlier end.
   */
  sawEnd(position: number): void {
    if (this.#waiting.size === 0 || position <= this.#lastNewest) return
    const isLater = this.#lastNewest >= 0
    this.#lastNewest = position
    if (isLater) this.notify()
  }

  /** Wakes every waiting reader, for an orderly shutdown. */
  close(): void {
    this.#closed = true
    this.notify()
  }

  #stopPolling(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#lastNewest = -1
  }

  async #poll(): Promise<void> {
    try {
      const newest = await this.#newest()
      this.#incidents.worked('feed-signal')
      if (this.#lastNewest >= 0 && newest > this.#lastNewest) this.notify()
    } catch (error) {
      this.#incidents.failed('feed-signal', error)
    }
  }
}
