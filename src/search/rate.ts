/** Things are counted over so long; after as long without one no rate is told. */
const windowMs = 60_000

/** How fast things are made, by what was made in the last minute. */
export class Rate {
  readonly #now: () => number
  #made: { readonly at: number; readonly count: number }[] = []
  /** Since when they are being made without a longer pause. */
  #since: number | null = null

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A step that made so many, and began then. */
  made(count: number, beganAt: number): void {
    if (count === 0) return
    this.#forget()
    if (this.#made.length === 0) this.#since = beganAt
    this.#made.push({ at: this.#now(), count })
  }

  /** Null while none are being made. */
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
