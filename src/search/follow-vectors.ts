import { bringPage, bringVectors, completeVectors } from './complete-vectors.ts'
import type { FeedStep } from './feed-index.ts'
import type { IndexSource, MadeProfile } from './index-source.ts'
import type { SearchIndex } from './search-index.ts'

/** Chunks looked for at once. */
const lookedForMax = 256

/** While chunks that were forgotten still wait, all that the index lacks is looked for this often. */
const walkEveryMs = 10_000

export interface FollowedVectors {
  readonly source: IndexSource
  readonly index: SearchIndex
  readonly profileId: string
  /** Whether other processes make vectors too. */
  readonly shared: boolean
  /** Chunks that are remembered at most; 100,000 when left out. */
  readonly awaitedMax?: number
  /** Chunks that had no vector and did not wait for one were found; they do now. */
  readonly lost: (chunks: number) => void
}

/**
 * Keeps the vectors of the index up with those of the store, as far as nobody else does.
 *
 * What the index lacks when this begins, or when another index takes its place, is walked through once: vectors may have
 * been made while no process was there to hand them over, or for the index before.
 *
 * Where other processes make vectors, chunks that went in without one are looked for in the store until they have it.
 * Those that are too many to remember are found by walking again, until no chunk waits any more.
 */
export class VectorFollower {
  readonly #followed: FollowedVectors
  #awaited = new Set<string>()
  #forgot = false
  /** Behind which document the walk goes on; null when none is under way. */
  #walk: { readonly after: string | null } | null = { after: null }
  #walkAt = 0

  constructor(followed: FollowedVectors) {
    this.#followed = followed
  }

  /** Chunks went into the index, with these vectors. */
  fed({ chunkIds, vectors }: Pick<FeedStep, 'chunkIds' | 'vectors'>): void {
    if (!this.#followed.shared) return
    const { profileId } = this.#followed
    const has = new Set(vectors.filter((one) => one.profileId === profileId).map(({ chunkId }) => chunkId))
    this.#await(chunkIds.filter((chunkId) => !has.has(chunkId)))
  }

  /** This process made them itself. */
  have(chunkIds: readonly string[]): void {
    for (const chunkId of chunkIds) this.#awaited.delete(chunkId)
  }

  /** Another index took the place of the one that was followed for. */
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
      else this.#forgot = true
    }
  }

  async #takeAwaited(): Promise<boolean> {
    const { source, index, profileId } = this.#followed
    // In the order of feeding, which is about the order of making.
    const chunkIds = [...this.#awaited.values().take(lookedForMax)]
    if (chunkIds.length === 0) return false
    // Asked first: what does not wait any more was made before, or never will be.
    const waiting = await source.stillWaiting(profileId, chunkIds)
    const made = await bringVectors(source, index, profileId, chunkIds)
    this.have(chunkIds)
    // Behind the others: those whose turn is far off must not be asked for again and again.
    this.#await(waiting.filter((chunkId) => !made.has(chunkId)))
    return made.size > 0
  }

  async #step(): Promise<boolean> {
    const { source, index, profileId, lost } = this.#followed
    if (this.#walk === null) {
      if (!this.#forgot || Date.now() < this.#walkAt) return false
      // Asked before the walk: what is made after that is waited for, or walked to again.
      this.#forgot = (await source.waitingChunks(profileId, 1)).length > 0
      this.#walk = { after: null }
    }
    const page = await completeVectors(source, index, await this.#made(), this.#walk.after)
    this.#await(page.lacking)
    if (page.lost > 0) lost(page.lost)
    this.#walk = page.next === null ? null : { after: page.next }
    this.#walkAt = Date.now() + walkEveryMs
    return page.next !== null
  }

  /** Of texts in other languages than those of a model there will never be a vector: they are not walked through. */
  async #made(): Promise<MadeProfile> {
    const { source, profileId } = this.#followed
    const made = await source.madeProfiles()
    return made.find((one) => one.profileId === profileId) ?? ofAllTexts(profileId)
  }
}

const ofAllTexts = (profileId: string): MadeProfile => ({ profileId, languages: null })

/**
 * The same for profiles whose place other ones are taking: they answer until the new vectors are there. What was made of
 * them shortly before the change may be in the store alone, for an index that was rebuilt and is served only since.
 */
export class ReplacedVectors {
  readonly #source: IndexSource
  readonly #index: SearchIndex
  readonly #madeProfileIds: readonly string[]
  #walks: { readonly profileId: string; readonly after: string | null }[] | null = null

  constructor(source: IndexSource, index: SearchIndex, madeProfileIds: readonly string[]) {
    this.#source = source
    this.#index = index
    this.#madeProfileIds = madeProfileIds
  }

  walkAgain(): void {
    this.#walks = null
  }

  /** Finds out which they are; left out, `follow` does so first. */
  async begin(): Promise<void> {
    this.#walks ??= (await this.#replacedProfileIds()).map((profileId) => ({ profileId, after: null }))
  }

  /** Returns whether there may be more at once. */
  async follow(): Promise<boolean> {
    await this.begin()
    const [walk, ...others] = this.#walks!
    if (walk === undefined) return false
    const { next } = await bringPage(this.#source, this.#index, ofAllTexts(walk.profileId), walk.after)
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
    // Nobody asks them any more.
    return []
  }
}
