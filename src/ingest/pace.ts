/**
 * Throttles an import to the speed of the index. An import can store documents several times as fast as they are
 * indexed. The last of a million documents would be searchable minutes after it was stored, and the import and the
 * index would compete for the processor until then. So once the index would need `behindMs` for its backlog, an import
 * stores no faster than the index works.
 *
 * Stored documents are safe, even if they are searchable late. So the import does not wait if the index makes no
 * progress, is behind for other reasons, or does not report its progress.
 */

export interface IndexProgress {
  /**
   * Returns the revision of the newest change in the store, and that of the newest searchable one. Null if they are
   * unknown.
   */
  read(): Promise<{ readonly stored: number; readonly searchable: number } | null>
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
/**
 * While the speed of the index is unknown, a larger backlog counts as a rebuild. Collectors may just have sent a
 * smaller one.
 */
const smallBacklog = 500
const readEveryMs = 1000
/**
 * The period over which the speed of the index is measured. If nothing is indexed for this long, the import does not
 * wait.
 */
const windowMs = 10_000
/** A pause is split into pieces of this length, so that the import can be stopped. */
const pauseMaxMs = 250

interface Reading {
  readonly at: number
  readonly searchable: number
  readonly waiting: number
}

/** Created before anything is stored, so that it knows whether the index was behind already. */
export class Pace {
  readonly #index: IndexProgress
  readonly #clock: Clock
  #readings: readonly Reading[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #isReading = false
  #movedAt = Number.NEGATIVE_INFINITY
  #isOwnBacklog = false
  /** The time by which the documents stored so far are indexed. */
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(index: IndexProgress, clock: Clock) {
    this.#index = index
    this.#clock = clock
    this.#readIfDue()
  }

  /**
   * Resolves when more documents may be stored after these. `meanwhile` is called in every pause; an error that it
   * throws ends the wait.
   */
  async after(documents: number, meanwhile: () => void): Promise<void> {
    const start = Math.max(this.#dueAt, this.#clock.now() - pauseMaxMs)
    for (;;) {
      this.#readIfDue()
      const now = this.#clock.now()
      this.#dueAt = start + documents * this.#msPerDocument(now)
      if (this.#dueAt <= now) return
      await this.#clock.pause(Math.min(pauseMaxMs, this.#dueAt - now))
      meanwhile()
    }
  }

  /** Returns 0 if the import need not wait. */
  #msPerDocument(now: number): number {
    const last = this.#readings.at(-1)
    if (last === undefined || !this.#isOwnBacklog || now - this.#movedAt > windowMs) return 0
    const perMs = this.#perMs
    const late = last.waiting / perMs
    return perMs > 0 && late > behindMs ? late / behindMs / perMs : 0
  }

  /** NaN after only one reading. */
  get #perMs(): number {
    const [first, last] = [this.#readings[0]!, this.#readings.at(-1)!]
    return (last.searchable - first.searchable) / (last.at - first.at)
  }

  /** Reads the progress in the background, because the index may be unavailable and answer late. */
  #readIfDue(): void {
    const now = this.#clock.now()
    if (this.#isReading || now - this.#readAt < readEveryMs) return
    this.#readAt = now
    this.#isReading = true
    // Other code reports the error. Here it only means that the progress is unknown.
    const progress = this.#index.read().catch(() => null)
    void progress.then((found) => {
      this.#isReading = false
      this.#add(found)
    })
  }

  #add(found: Awaited<ReturnType<IndexProgress['read']>>): void {
    const at = this.#clock.now()
    const before = this.#readings.at(-1)
    const progressed = found !== null && before !== undefined && found.searchable >= before.searchable
    if (!progressed || found.searchable > before.searchable) this.#movedAt = at
    if (!progressed || at - this.#movedAt > windowMs) this.#isOwnBacklog = false
    if (found === null) {
      this.#readings = []
      return
    }
    const waiting = found.stored - found.searchable
    const recent = progressed ? this.#readings.filter((reading) => at - reading.at <= windowMs) : []
    this.#readings = [...recent, { at, searchable: found.searchable, waiting }]
    if (waiting <= smallBacklog || waiting / this.#perMs <= ownBehindMs) this.#isOwnBacklog = true
  }
}
