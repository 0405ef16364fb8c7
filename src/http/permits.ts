import { TidemarkError } from '../errors.ts'

/**
 * Bounds the requests that are worked on at once. Under overload the answer is a quick 503 with Retry-After instead of
 * a queue that only grows.
 */
export class Permits {
  #free: number
  constructor(most: number) {
    this.#free = most
  }

  /** Gives back a function that returns the permit; calling it twice returns it once. */
  take(): () => void {
    if (this.#free === 0) {
      throw new TidemarkError('overloaded', 'the service is busy: try again in a moment', { retryAfterSeconds: 1 })
    }
    this.#free--
    let held = true
    return () => {
      if (held) this.#free++
      held = false
    }
  }
}
