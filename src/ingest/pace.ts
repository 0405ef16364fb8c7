/**
 * Slows an import to the speed of the index. An import can store documents several times as fast as the index takes them
 * in. The last of a million documents would be searchable minutes after it was stored, and both would compete for the
 * processor until then. So once the index would need `behindMs` for its backlog, an import stores no faster than the
 * index is fed.
 *
 * Stored documents are safe, and are only searchable late. So the import does not wait if the index makes no progress, is
 * behind for other reasons, or its progress is unknown.
 */
export interface IndexProgress {
  /** Returns the newest change of the store and the newest searchable one, in the same count. Null if that is unknown. */
  look(): Promise<{ readonly stored: number; readonly searchable: number } | null>
}

export interface Clock {
  now(): number
  pause(ms: number): Promise<unknown>
}

const behindMs = 20_000
/**
 * A paced import leaves no larger backlog than this. A larger one means that the index is being rebuilt, or was
 * unavailable.
 */
const ownBehindMs = 60_000
/** The backlog that does not matter while the speed of the index is unknown: perhaps documents just sent by collectors. */
const fewWaiting = 500
const lookEveryMs = 1000
/**
 * The period over which the speed of the index is measured. If it takes in nothing for so long, the import does not wait.
 */
const windowMs = 10_000
/** A pause is split into pieces of this length, so that the import can be stopped. */
const pauseMaxMs = 250

interface Look {
  readonly at: number
  readonly searchable: number
  readonly waiting: number
}

/** Created before anything is stored, so that it knows whether the index was behind already. */
export class Pace {
  readonly #index: IndexProgress
  readonly #clock: Clock
  #looks: readonly Look[] = []
  #lookedAt = Number.NEGATIVE_INFINITY
  #isLooking = false
  #movedAt = Number.NEGATIVE_INFINITY
  #isOwnBacklog = false
  /** The time by which the index has taken in the documents stored so far. */
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(index: IndexProgress, clock: Clock) {
    this.#index = index
    this.#clock = clock
    this.#lookNowAndThen()
  }

  /**
   * Resolves when more documents may be stored after these. `meanwhile` is called in every pause; an error that it throws
   * ends the wait.
   */
  async after(documents: number, meanwhile: () => void): Promise<void> {
    const start = Math.max(this.#dueAt, this.#clock.now() - pauseMaxMs)
    for (;;) {
      this.#lookNowAndThen()
      const now = this.#clock.now()
      this.#dueAt = start + documents * this.#msPerDocument(now)
      if (this.#dueAt <= now) return
      await this.#clock.pause(Math.min(pauseMaxMs, this.#dueAt - now))
      meanwhile()
    }
  }

  /** Returns 0 if the import need not wait. */
  #msPerDocument(now: number): number {
    const last = this.#looks.at(-1)
    if (last === undefined || !this.#isOwnBacklog || now - this.#movedAt > windowMs) return 0
    const perMs = this.#perMs
    const late = last.waiting / perMs
    return perMs > 0 && late > behindMs ? late / behindMs / perMs : 0
  }

  /** NaN after only one reading. */
  get #perMs(): number {
    const [first, last] = [this.#looks[0]!, this.#looks.at(-1)!]
    return (last.searchable - first.searchable) / (last.at - first.at)
  }

  /** Reads the progress in the background, because the index may be unavailable and answer late. */
  #lookNowAndThen(): void {
    const now = this.#clock.now()
    if (this.#isLooking || now - this.#lookedAt < lookEveryMs) return
    this.#lookedAt = now
    this.#isLooking = true
    // Other code reports the error. Here it only means that the progress is unknown.
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
