/** The number of names, and how long an unused name is kept. */
const namesMax = 20
const keptMs = 3_600_000

/** The shared name of all other values. */
export const others = 'other'

/**
 * Bounds a metric label that could have any number of values. The first `namesMax` values keep their names, and all
 * others share one. A name that was unused for an hour is dropped when a new value needs its slot. So each count only
 * grows, as counters must, and the number of series is bounded.
 */
export class BoundedLabel {
  readonly #lastAt = new Map<string, number>()
  readonly #most: number
  readonly #now: () => number
  readonly #dropped: (name: string) => void

  /** `dropped` is called with each name that is dropped. */
  constructor(dropped: (name: string) => void, most = namesMax, now: () => number = () => performance.now()) {
    this.#dropped = dropped
    this.#most = most
    this.#now = now
  }

  of(name: string): string {
    const now = this.#now()
    // The map is ordered by use: the name that was unused longest comes first.
    if (!this.#lastAt.delete(name) && this.#lastAt.size >= this.#most) {
      const [oldest, at] = this.#lastAt.entries().next().value!
      if (now - at < keptMs) return others
      this.#lastAt.delete(oldest)
      this.#dropped(oldest)
    }
    this.#lastAt.set(name, now)
    return name
  }
}
