import type { IndexSource } from './index-source.ts'
import type { IndexChange, SearchIndex } from './search-index.ts'

/** Chunks looked for at once, and how many are remembered. */
const lookedForMax = 256
const awaitedMax = 100_000

/** Counting all vectors is not free; while chunks that were forgotten still wait, it is done this often. */
const compareEveryMs = 10_000

/**
 * Brings vectors that another process made into the index of this one. Chunks that went in without a vector are looked
 * for in the store until they have one. What could have been missed, because this process was not running or had too
 * much to remember, is found by comparing how many vectors the store and the index have; where chunks were forgotten,
 * again and again until no chunk waits any more.
 */
export class VectorFollower {
  #source: IndexSource
  #index: SearchIndex
  #profileId: string
  #awaited = new Set<string>()
  #forgot = false
  /** How far the comparison has come; null when there is nothing to compare. */
  #comparedTo: string | null = ''
  #compareAt = 0

  constructor(source: IndexSource, index: SearchIndex, profileId: string) {
    this.#source = source
    this.#index = index
    this.#profileId = profileId
  }

  await(chunkIds: readonly string[]): void {
    for (const chunkId of chunkIds) {
      if (this.#awaited.size < awaitedMax) this.#awaited.add(chunkId)
      else this.#forgot = true
    }
    if (this.#forgot && this.#comparedTo === null) this.#comparedTo = ''
  }

  /** This process made them itself. */
  have(chunkIds: readonly string[]): void {
    for (const chunkId of chunkIds) this.#awaited.delete(chunkId)
  }

  /** Another index took the place of the one that was followed for. */
  compareAll(): void {
    this.#comparedTo = ''
    this.#compareAt = 0
  }

  /** Returns whether there may be more at once. */
  async follow(): Promise<boolean> {
    const found = await this.#takeAwaited()
    return (await this.#compare()) || found
  }

  async #takeAwaited(): Promise<boolean> {
    // In the order of feeding, which is about the order of making.
    const chunkIds = [...this.#awaited.values().take(lookedForMax)]
    if (chunkIds.length === 0) return false
    // Asked first: what does not wait any more was made before, or never will be.
    const waiting = await this.#source.stillWaiting(this.#profileId, chunkIds)
    const made = await this.#source.vectors(chunkIds)
    await this.#apply(made)
    this.have(chunkIds)
    const has = new Set(made.filter(({ profileId }) => profileId === this.#profileId).map(({ chunkId }) => chunkId))
    // Behind the others: those whose turn is far off must not be asked for again and again.
    this.await(waiting.filter((chunkId) => !has.has(chunkId)))
    return has.size > 0
  }

  async #compare(): Promise<boolean> {
    if (this.#comparedTo === null || (this.#comparedTo === '' && Date.now() < this.#compareAt)) return false
    if (this.#comparedTo === '') {
      this.#compareAt = Date.now() + compareEveryMs
      // Asked before the counts: what is made after that is waited for, or compared again.
      if (this.#forgot) this.#forgot = (await this.#source.waitingChunks(this.#profileId, 1)).length > 0
      const { profiles } = await this.#index.health()
      const indexed = profiles.find(({ profileId }) => profileId === this.#profileId)?.chunks ?? 0
      if (indexed >= (await this.#source.vectorCount(this.#profileId))) {
        this.#comparedTo = this.#forgot ? '' : null
        return false
      }
    }
    const page = await this.#source.vectorsAfter(this.#profileId, this.#comparedTo, lookedForMax)
    await this.#apply(page.map((one) => ({ ...one, profileId: this.#profileId })))
    this.#comparedTo = page.at(-1)?.chunkId ?? (this.#forgot ? '' : null)
    return page.length > 0
  }

  async #apply(
    vectors: readonly { documentId: string; chunkId: string; profileId: string; vector: Float32Array }[],
  ): Promise<void> {
    if (vectors.length === 0) return
    const changes = vectors.map((one): IndexChange => ({ kind: 'set_vector', ...one }))
    const applied = await this.#index.apply({ position: null, changes })
    if (applied.outcome === 'unavailable') throw new Error(`the index cannot take vectors: ${applied.reason}`)
  }
}
