/** The length of the window that is counted. No rate is reported if nothing was made in that time. */
const windowMs = 60_000

/** The rate per second, over the last minute. */
export class Rate {
  readonly #now: () => number
  #made: { readonly at: number; readonly count: number }[] = []
  /** The start of the current run without a longer pause. */
  #since: number | null = null

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A step that began at `startedAt` has made `count`. */
  made(count: number, startedAt: number): void {
    if (count === 0) return
    this.#forget()
    if (this.#made.length === 0) this.#since = startedAt
    this.#made.push({ at: this.#now(), count })
  }

  /** Null while nothing is made. */
  get perSecond(): number | null {
    this.#forget()
    if (this.#made.length === 0 || this.#since === null) return null
    const count = this.#made.reduce((sum, one) => sum + one.count, 0)
    const ms = Math.min(windowMs, this.#now() - this.#since)
    return ms <= 0 ? null : (count / ms) * 1000
  }

  #forget(): void {
    const from = this.#now() - windowMs
    this.#made = this.#made.filter(({ at }) => at > from)
  }
}
