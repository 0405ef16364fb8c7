/** Vectors are counted over so long; after as long without one no rate is told. */
const windowMs = 60_000

/** How fast vectors are made, by what was made in the last minute. */
export class VectorRate {
  readonly #now: () => number
  #made: { readonly at: number; readonly vectors: number }[] = []
  /** Since when they are being made without a longer pause. */
  #since: number | null = null

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A step that made so many, and began then. */
  made(vectors: number, beganAt: number): void {
    if (vectors === 0) return
    this.#forget()
    if (this.#made.length === 0) this.#since = beganAt
    this.#made.push({ at: this.#now(), vectors })
  }

  /** Null while none are being made. */
  get perSecond(): number | null {
    this.#forget()
    if (this.#made.length === 0 || this.#since === null) return null
    const vectors = this.#made.reduce((sum, one) => sum + one.vectors, 0)
    const ms = Math.min(windowMs, this.#now() - this.#since)
    return ms <= 0 ? null : (vectors / ms) * 1000
  }

  #forget(): void {
    const from = this.#now() - windowMs
    this.#made = this.#made.filter(({ at }) => at > from)
  }
}

export function vectorPace(waiting: number, perSecond: number): string {
  return `vectors are made at ${rounded(perSecond)} a second, the ${waiting} that wait within ${inWords(waiting / perSecond)}`
}

export function inWords(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

const rounded = (perSecond: number): string =>
  perSecond < 10 ? perSecond.toPrecision(2) : Math.round(perSecond).toString()
