import { completeVectors, copyStoredVectors, copyVectorPage } from './complete-vectors.ts'
import type { FedIndex } from './fed-index.ts'
import type { FeedStep } from './feed-index.ts'
import type { ActiveProfile, IndexSource } from './index-source.ts'

/** The number of chunks that are looked up at once. */
const lookedUpMax = 256

/** How often the whole index is searched for missing vectors while untracked chunks still wait for one. */
const walkEveryMs = 10_000

export interface FollowedVectors {
  readonly source: IndexSource
  readonly index: FedIndex
  readonly profileId: string
  /** Whether other processes make vectors too. */
  readonly shared: boolean
  /** The largest number of chunks that are remembered; 100,000 by default. */
  readonly awaitedMax?: number
  /** Called with the number of chunks that had no vector and were not queued for one; they are queued now. */
  readonly lost: (chunks: number) => void
}

/**
 * Copies vectors that are in the store but not in the index into the index, unless another process does.
 *
 * The whole index is walked once at the start, and again if another index replaces it: vectors may have been made while
 * no process could copy them, or for the previous index.
 *
 * If other processes make vectors, chunks that were indexed without one are looked up in the store until they have it.
 * Chunks beyond the number that can be remembered are found by further walks, until no chunk waits any more.
 */
export class VectorFollower {
  readonly #followed: FollowedVectors
  #awaited = new Set<string>()
  #hasUntracked = false
  /** The document after which the walk continues; null if no walk is in progress. */
  #walk: { readonly after: string | null } | null = { after: null }
  #walkAt = 0

  constructor(followed: FollowedVectors) {
    this.#followed = followed
  }

  /** Reports which chunks were indexed, and with which vectors. */
  fed({ chunkIds, vectors }: Pick<FeedStep, 'chunkIds' | 'vectors'>): void {
    if (!this.#followed.shared) return
    const { profileId } = this.#followed
    const withVector = new Set(vectors.filter((one) => one.profileId === profileId).map(({ chunkId }) => chunkId))
    this.#await(chunkIds.filter((chunkId) => !withVector.has(chunkId)))
  }

  /** Stops looking up these chunks: this process has made their vectors, or the model refused their texts. */
  stopAwaiting(chunkIds: readonly string[]): void {
    for (const chunkId of chunkIds) this.#awaited.delete(chunkId)
  }

  /** Walks the whole index again. Called when another index has replaced the followed one. */
  walkAgain(): void {
    this.#walk = { after: null }
  }

  /** Returns whether there may be more at once. */
  async follow(): Promise<boolean> {
    const found = await this.#takeAwaited()
    return (await this.#step()) || found
  }

  #await(chunkIds: readonly string[]): void {
    if (!this.#followed.shared) return
    for (const chunkId of chunkIds) {
      if (this.#awaited.size < (this.#followed.awaitedMax ?? 100_000)) this.#awaited.add(chunkId)
      else this.#hasUntracked = true
    }
  }

  async #takeAwaited(): Promise<boolean> {
    const { source, index, profileId } = this.#followed
    // In the order of feeding, which is roughly the order in which vectors are made.
    const chunkIds = [...this.#awaited.values().take(lookedUpMax)]
    if (chunkIds.length === 0) return false
    // Read before the vectors: a chunk that does not wait any more has its vector already, or never gets one.
    const waiting = await source.stillWaiting(profileId, chunkIds)
    const made = await copyStoredVectors(source, index, profileId, chunkIds)
    this.stopAwaiting(chunkIds)
    // Appended at the end: chunks at the back of the queue must not be looked up again and again.
    this.#await(waiting.filter((chunkId) => !made.has(chunkId)))
    return made.size > 0
  }

  async #step(): Promise<boolean> {
    const { source, index, profileId, lost } = this.#followed
    if (this.#walk === null) {
      if (!this.#hasUntracked || Date.now() < this.#walkAt) return false
      // Read before the walk: a vector that is made later is waited for, or found by the next walk.
      this.#hasUntracked = (await source.waitingChunks(profileId, 1)).length > 0
      this.#walk = { after: null }
    }
    const page = await completeVectors(source, index, await this.#made(), this.#walk.after)
    this.#await(page.missing)
    if (page.lost > 0) lost(page.lost)
    this.#walk = page.next === null ? null : { after: page.next }
    this.#walkAt = Date.now() + walkEveryMs
    return page.next !== null
  }

  /** A model never makes vectors of texts in languages that it does not know, so the walk leaves them out. */
  async #made(): Promise<ActiveProfile> {
    const { source, profileId } = this.#followed
    const made = await source.activeProfiles()
    return made.find((one) => one.profileId === profileId) ?? ofAllTexts(profileId)
  }
}

const ofAllTexts = (profileId: string): ActiveProfile => ({ profileId, languages: null })

/**
 * Copies the vectors of profiles that are being replaced, because these answer queries until the new vectors are
 * complete. Vectors that were made shortly before the change may be only in the store if the index has been rebuilt
 * since.
 */
export class ReplacedVectors {
  readonly #source: IndexSource
  readonly #index: FedIndex
  readonly #madeProfileIds: readonly string[]
  #walks: { readonly profileId: string; readonly after: string | null }[] | null = null

  constructor(source: IndexSource, index: FedIndex, madeProfileIds: readonly string[]) {
    this.#source = source
    this.#index = index
    this.#madeProfileIds = madeProfileIds
  }

  walkAgain(): void {
    this.#walks = null
  }

  /** Finds the replaced profiles. `follow` does this first if it was not called. */
  async begin(): Promise<void> {
    this.#walks ??= (await this.#replacedProfileIds()).map((profileId) => ({ profileId, after: null }))
  }

  /** Returns whether there may be more at once. */
  async follow(): Promise<boolean> {
    await this.begin()
    const [walk, ...others] = this.#walks!
    if (walk === undefined) return false
    const { next } = await copyVectorPage(this.#source, this.#index, ofAllTexts(walk.profileId), walk.after)
    this.#walks = next === null ? others : [{ ...walk, after: next }, ...others]
    return this.#walks.length > 0
  }

  async #replacedProfileIds(): Promise<string[]> {
    const { profiles } = await this.#index.health()
    const replaced = profiles.map((one) => one.profileId).filter((id) => !this.#madeProfileIds.includes(id))
    if (replaced.length === 0) return []
    for (const profileId of this.#madeProfileIds) {
      if ((await this.#source.waitingChunks(profileId, 1)).length > 0) return replaced
    }
    // Searches do not use these profiles any more.
    return []
  }
}
