/** The number of names, and how long an unused name is kept. */
const namesMax = 20
const keptMs = 3_600_000

/** The shared name of all others. */
export const others = 'other'

/**
 * Limits the names of a label that could have any number of values. The first `namesMax` keep theirs, and all others
 * share one. A name that was unused for an hour is given up when another one needs its place. So each count only grows,
 * as counters must, and the number of series is bounded.
 */
export class FewNames {
  readonly #lastAt = new Map<string, number>()
  readonly #most: number
  readonly #now: () => number
  readonly #left: (name: string) => void

  /** `left` is called with a name that was given up. */
  constructor(left: (name: string) => void, most = namesMax, now: () => number = () => performance.now()) {
    this.#left = left
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
      this.#left(oldest)
    }
    this.#lastAt.set(name, now)
    return name
  }
}
