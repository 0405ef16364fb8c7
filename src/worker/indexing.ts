import type { FastifyBaseLogger } from 'fastify'
import type { Embedder } from '../embedding/embedder.ts'
import { addLateVectors, feedIndex } from '../search/feed-index.ts'
import type { IndexSource } from '../search/index-source.ts'
import { makeVectors } from '../search/make-vectors.ts'
import type { SearchIndex } from '../search/search-index.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Changes made by another process are found this late; this process's own wake the loops at once. */
const lookEveryMs = 500

/** Longer than the handing over of a rebuilt index takes. */
const recentMs = 120_000

export interface Indexing {
  /** There may be something new to index. */
  wake(): void
  /** Another index is served now: its own position counts. */
  restart(): void
  stop(): Promise<void>
}

/**
 * Keeps the search index up with the store: words first, vectors after them, each in its own loop so that a slow or
 * missing embedding endpoint never delays keyword search. `learn` is called after vectors were made. A damaged or outdated index is emptied and fed anew.
 */
export function startIndexing(
  source: IndexSource,
  index: SearchIndex,
  embedder: Embedder,
  learn: () => Promise<void>,
  logger: FastifyBaseLogger,
): Indexing {
  let position: number | null = null
  const abort = new AbortController()
  let recent: { chunkId: string; at: number }[] = []

  const words = repeat(
    'indexing',
    lookEveryMs,
    async () => {
      if (position === null) {
        const health = await index.health()
        if (health.state === 'needs_rebuild') {
          logger.warn({ reason: health.reason }, 'the search index is built anew from the store')
          await index.clear()
        }
        // An index that was built elsewhere does not have what was made here in the meantime.
        await addLateVectors(
          source,
          index,
          recent.map(({ chunkId }) => chunkId),
        )
        position = health.state === 'needs_rebuild' ? 0 : health.position
      }
      try {
        const step = await feedIndex(source, index, position, [embedder.profileId])
        position = step.position
        if (step.documents > 0) vectors.wake()
        return step.documents > 0
      } catch (error) {
        // The index knows best where it stands.
        position = null
        throw error
      }
    },
    logger,
  )
  const vectors: Repeating = repeat(
    'vectors',
    lookEveryMs,
    async () => {
      const made = await makeVectors(source, index, embedder, abort.signal)
      const now = Date.now()
      recent = [...recent.filter(({ at }) => now - at < recentMs), ...made.map((chunkId) => ({ chunkId, at: now }))]
      await learn()
      return made.length > 0
    },
    logger,
  )

  return {
    wake: () => words.wake(),
    restart() {
      position = null
      words.wake()
    },
    async stop() {
      abort.abort()
      await Promise.all([words.stop(), vectors.stop()])
    },
  }
}
