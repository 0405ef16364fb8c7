import { lagLimits } from '../search/limits.ts'

/**
 * Whether the index may be missing documents that were acknowledged long ago. Each process computes it from the
 * positions of the store and the index that it sees itself. If the index does not answer, its last known position
 * counts.
 */
export class IndexLag {
  readonly #now: () => number
  #position = 0
  #movedAt: number
  /**
   * Revisions of the store beyond the position of the index, and when the store reached them. Only the newest one
   * older than `lagLimits.lateMs` is kept.
   */
  #waiting: { readonly revision: number; readonly at: number }[] = []

  constructor(now = () => performance.now()) {
    this.#now = now
    this.#movedAt = now()
  }

  /** The newest revision of the store. It can fall, if a backup was restored or the newest row was removed. */
  stored(revision: number): void {
    const now = this.#now()
    let at = now
    while ((this.#waiting.at(-1)?.revision ?? 0) > revision) at = this.#waiting.pop()!.at
    if (revision <= Math.max(this.#position, this.#waiting.at(-1)?.revision ?? 0)) return
    this.#waiting.push({ revision, at })
    // Only the newest of the late entries matters.
    while (this.#waiting.length > 1 && now - this.#waiting[1]!.at > lagLimits.lateMs) this.#waiting.shift()
  }

  /** The index has everything up to this revision. It can fall, if the index was emptied or replaced. */
  indexed(position: number): void {
    if (position > this.#position) this.#movedAt = this.#now()
    this.#position = position
    while (this.#waiting.length > 0 && this.#waiting[0]!.revision <= position) this.#waiting.shift()
  }

  get isBehind(): boolean {
    const [oldest] = this.#waiting
    if (oldest === undefined) return false
    const now = this.#now()
    const stalledMs = now - Math.max(oldest.at, this.#movedAt)
    return stalledMs > lagLimits.standingStillMs || now - oldest.at > lagLimits.lateMs
  }
}
