import type { FastifyBaseLogger } from 'fastify'
import type { Embedder } from '../embedding/embedder.ts'
import type { Incidents } from '../incidents.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { addLateVectors, feedIndex } from '../search/feed-index.ts'
import { VectorFollower } from '../search/follow-vectors.ts'
import type { IndexSource } from '../search/index-source.ts'
import { makeVectors } from '../search/make-vectors.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Changes made by another process are found this late; this process's own wake the loops at once. */
const lookEveryMs = 500

/** Longer than the handing over of a rebuilt index takes. */
const recentMs = 120_000

export interface Indexing {
  /** The index does not have all yet that the store had at the start, or when the index was emptied. */
  readonly isRefilling: boolean
  /** There may be something new to index. */
  wake(): void
  /** Puts another index in place of the served one while nothing is being written to it; its own position counts then. */
  exchange(replace: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

/**
 * Keeps the search index up with the store: words first, vectors after them, each in its own loop so that a slow or
 * missing embedding endpoint never delays keyword search. `learn` is called after vectors were made. An index that is
 * damaged, or ahead of its store (which was put back from a copy), is emptied and fed anew.
 *
 * One at a time: a step of words, the handing over of vectors, the exchange of the index. A vector that came before its
 * words would be lost, because the index does not know the chunk yet; after them, or read with them, it is not. An
 * index that was exchanged in the middle of a step would miss what lies between the two positions.
 *
 * Where several processes share a store, each keeps an index of its own and one of them makes the vectors: `makes` says
 * whether it is this one. The others bring into their index what that one put into the store.
 */
export async function startIndexing(
  source: IndexSource,
  index: SearchIndex,
  embedder: Embedder,
  learn: () => Promise<void>,
  incidents: Incidents,
  logger: FastifyBaseLogger,
  makes: (() => Promise<boolean>) | null = null,
): Promise<Indexing> {
  let position: number | null = null
  /** Where the index has all that it was found to lack; null when it has. */
  let refilledAt: number | null = 0
  const abort = new AbortController()
  let recent: { chunkId: string; at: number }[] = []
  const alone = oneAtATime()
  const follower = makes === null ? null : new VectorFollower(source, index, embedder.profileId)

  /** Where the index stands; an index that cannot be gone on from is emptied. */
  const startPosition = async (): Promise<number> => {
    const health = await index.health()
    const newest = await source.newestRevision()
    const reason =
      health.state === 'needs_rebuild'
        ? health.reason
        : health.position > newest
          ? `it is at revision ${health.position}, the store at ${newest}`
          : null
    if (reason !== null) {
      logger.warn({ reason }, 'the search index is built anew from the store')
      await index.clear()
    }
    // An index that was built elsewhere does not have what was made here in the meantime.
    await addLateVectors(
      source,
      index,
      recent.map(({ chunkId }) => chunkId),
    )
    const start = reason === null ? health.position : 0
    if (refilledAt !== null || reason !== null) refilledAt = start < newest ? newest : null
    return start
  }

  const feed = async (): Promise<boolean> => {
    try {
      position ??= await startPosition()
      const step = await feedIndex(source, index, position, [embedder.profileId])
      position = step.position
      if (refilledAt !== null && (position >= refilledAt || step.documents === 0)) refilledAt = null
      follower?.await(step.withoutVector)
      if (step.documents > 0) vectors.wake()
      return step.documents > 0
    } catch (error) {
      // The index knows best where it stands.
      position = null
      throw error
    }
  }
  // Known before the first search can come; where it fails, the loop below says so and tries again.
  position = await startPosition().catch(() => null)
  const words = repeat('indexing', lookEveryMs, () => alone(feed), incidents)
  const vectors: Repeating = repeat(
    'vectors',
    lookEveryMs,
    async () => {
      const followed = follower !== null && (await alone(() => follower.follow()))
      if (makes !== null && !(await makes())) return followed
      const made = await makeVectors(source, index, embedder, alone, abort.signal)
      follower?.have(made)
      const now = Date.now()
      recent = [...recent.filter(({ at }) => now - at < recentMs), ...made.map((chunkId) => ({ chunkId, at: now }))]
      await learn()
      return made.length > 0 || followed
    },
    incidents,
  )

  return {
    get isRefilling() {
      return refilledAt !== null
    },
    wake: () => words.wake(),
    async exchange(replace) {
      await alone(async () => {
        await replace()
        position = null
        follower?.compareAll()
      })
      words.wake()
    },
    async stop() {
      abort.abort()
      await Promise.all([words.stop(), vectors.stop()])
    },
  }
}
