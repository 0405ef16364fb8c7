import { type Incidents, silentIncidents } from '../incidents.ts'

/**
 * Wakes readers that wait at the end of the feed. One timer and one question to the store serve all of them, and only
 * while somebody waits: events written by this process wake at once, those of another process within `askEveryMs`.
 */
const askEveryMs = 1000

export class ChangeSignal {
  #waiting = new Set<() => void>()
  #newest: () => Promise<number>
  #timer: NodeJS.Timeout | null = null
  #lastNewest = -1
  #closed = false
  #incidents: Incidents

  /** `newest` gives the newest sequence in the store. */
  constructor(newest: () => Promise<number>, incidents: Incidents = silentIncidents) {
    this.#newest = newest
    this.#incidents = incidents
  }

  /**
   * `woken` resolves at the next event, at the latest after the time, or when the signal is aborted. Who does not wait
   * after all says so by `stop`, or would be woken for nothing.
   */
  wait(timeoutMs: number, aborted: AbortSignal): { readonly woken: Promise<void>; stop(): void } {
    if (this.#closed || timeoutMs <= 0 || aborted.aborted) return { woken: Promise.resolve(), stop: () => {} }
    const { promise: woken, resolve } = Promise.withResolvers<void>()
    const stop = (): void => {
      clearTimeout(timer)
      aborted.removeEventListener('abort', stop)
      this.#waiting.delete(stop)
      if (this.#waiting.size === 0) this.#stopAsking()
      resolve()
    }
    const timer = setTimeout(stop, timeoutMs)
    aborted.addEventListener('abort', stop)
    this.#waiting.add(stop)
    this.#timer ??= setInterval(() => void this.#ask(), askEveryMs)
    return { woken, stop }
  }

  /** Who waits at the moment. */
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
   * A reader stands at the end of the feed, here. This is what the store is asked about from now on; readers that began
   * to wait before what this one saw look again.
   */
  sawEnd(position: number): void {
    if (this.#waiting.size === 0 || position <= this.#lastNewest) return
    const isNews = this.#lastNewest >= 0
    this.#lastNewest = position
    if (isNews) this.notify()
  }

  /** Lets every waiting reader go, for an orderly end. */
  close(): void {
    this.#closed = true
    this.notify()
  }

  #stopAsking(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#lastNewest = -1
  }

  async #ask(): Promise<void> {
    try {
      const newest = await this.#newest()
      this.#incidents.worked('feed-signal')
      if (this.#lastNewest >= 0 && newest > this.#lastNewest) this.notify()
    } catch (error) {
      this.#incidents.failed('feed-signal', error)
    }
  }
}
