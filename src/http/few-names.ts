/** How many have a name, and how long one keeps it that nothing is said of. */
const namesMax = 20
const keptMs = 3_600_000

/** What all others are called together. */
export const others = 'other'

/**
 * Names for a label that could have any number of values: the first so many keep theirs, and all others are one. Who was not
 * spoken of for an hour gives its name up when another comes. So what is counted by name only grows, as counters must, and
 * series are bounded however many there are to be named.
 */
export class FewNames {
  readonly #lastAt = new Map<string, number>()
  readonly #most: number
  readonly #now: () => number
  readonly #left: (name: string) => void

  /** `left` hears of a name that was given up. */
  constructor(left: (name: string) => void, most = namesMax, now: () => number = () => performance.now()) {
    this.#left = left
    this.#most = most
    this.#now = now
  }

  of(name: string): string {
    const now = this.#now()
    // The one spoken of longest ago comes first.
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
