/**
 * An import can store several times as fast as an index takes words in: the last of a million documents would be found minutes
 * after it was stored, and both would compete for the processor until then. So once what waits would take the index
 * `behindMs`, an import stores no faster than the index is fed.
 *
 * What is stored is safe, and what is not searchable yet is only late. So nothing is held up where the index does not move,
 * or is behind for other reasons than this import, or where that is not known.
 */
export interface IndexProgress {
  /** The newest change of the store, and the newest that is searchable, by the same count. Null where that is not known. */
  look(): Promise<{ readonly stored: number; readonly searchable: number } | null>
}

export interface Clock {
  now(): number
  pause(ms: number): Promise<unknown>
}

const behindMs = 20_000
/** An import that keeps the pace leaves no more than this waiting: the index is being made anew then, or was away. */
const ownBehindMs = 60_000
/** Before it is known how fast the index is: what collectors have just sent, perhaps. */
const fewWaiting = 500
const lookEveryMs = 1000
/** The index is as fast as it was for so long; when it takes in nothing for as long, it is not waited for. */
const windowMs = 10_000
/** In a pause, too, somebody may want to end. */
const pauseMaxMs = 250

interface Look {
  readonly at: number
  readonly searchable: number
  readonly waiting: number
}

/** Made before anything is stored, so that it knows whether the index is behind already. */
export class Pace {
  readonly #index: IndexProgress
  readonly #clock: Clock
  #looks: readonly Look[] = []
  #lookedAt = Number.NEGATIVE_INFINITY
  #isLooking = false
  #movedAt = Number.NEGATIVE_INFINITY
  #isOwnBacklog = false
  /** When the documents that were stored before have had their time. */
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(index: IndexProgress, clock: Clock) {
    this.#index = index
    this.#clock = clock
    this.#lookNowAndThen()
  }

  /** Resolves when more may be stored than these documents. `meanwhile` is called in every pause, and what it throws ends this. */
  async after(documents: number, meanwhile: () => void): Promise<void> {
    const begun = Math.max(this.#dueAt, this.#clock.now() - pauseMaxMs)
    for (;;) {
      this.#lookNowAndThen()
      const now = this.#clock.now()
      this.#dueAt = begun + documents * this.#msPerDocument(now)
      if (this.#dueAt <= now) return
      await this.#clock.pause(Math.min(pauseMaxMs, this.#dueAt - now))
      meanwhile()
    }
  }

  /** 0 where nothing is to be held up. */
  #msPerDocument(now: number): number {
    const last = this.#looks.at(-1)
    if (last === undefined || !this.#isOwnBacklog || now - this.#movedAt > windowMs) return 0
    const perMs = this.#perMs
    const late = last.waiting / perMs
    return perMs > 0 && late > behindMs ? late / behindMs / perMs : 0
  }

  /** Not a number where there is but one look. */
  get #perMs(): number {
    const [first, last] = [this.#looks[0]!, this.#looks.at(-1)!]
    return (last.searchable - first.searchable) / (last.at - first.at)
  }

  /** Nobody waits for it: who is asked may be away, and say nothing for long. */
  #lookNowAndThen(): void {
    const now = this.#clock.now()
    if (this.#isLooking || now - this.#lookedAt < lookEveryMs) return
    this.#lookedAt = now
    this.#isLooking = true
    // What is wrong there is for others to find out; here it is not known how far the index is.
    const looked = this.#index.look().catch(() => null)
    void looked.then((found) => {
      this.#isLooking = false
      this.#note(found)
    })
  }

  #note(found: Awaited<ReturnType<IndexProgress['look']>>): void {
    const at = this.#clock.now()
    const before = this.#looks.at(-1)
    const wentOn = found !== null && before !== undefined && found.searchable >= before.searchable
    if (!wentOn || found.searchable > before.searchable) this.#movedAt = at
    if (!wentOn || at - this.#movedAt > windowMs) this.#isOwnBacklog = false
    if (found === null) {
      this.#looks = []
      return
    }
    const waiting = found.stored - found.searchable
    const recent = wentOn ? this.#looks.filter((look) => at - look.at <= windowMs) : []
    this.#looks = [...recent, { at, searchable: found.searchable, waiting }]
    if (waiting <= fewWaiting || waiting / this.#perMs <= ownBehindMs) this.#isOwnBacklog = true
  }
}
