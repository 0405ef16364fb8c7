import { UnavailableError } from '../platform/errors.ts'
import type { FedIndex, IndexChange } from './fed-index.ts'
import type { ActiveProfile, IndexSource } from './index-source.ts'

const pageChunks = 256
const timeoutMs = 30_000

export interface CompletedPage {
  /** The document after which the next page starts; null at the end. */
  readonly next: string | null
  /** Chunks of this page that are still without a vector: it is not made yet, or the model refused the text. */
  readonly missing: readonly string[]
  /** The number of chunks of this page that had no vector and were not queued for one. They are queued now. */
  readonly lost: number
}

/**
 * Copies one page of vectors that are in the store but not in the index, starting after a document. Chunks of the page
 * without a stored vector are queued for one. The cost depends on the number of missing vectors, which is usually 0.
 */
export async function completeVectors(
  source: IndexSource,
  index: FedIndex,
  profile: ActiveProfile,
  after: string | null,
): Promise<CompletedPage> {
  const { profileId } = profile
  const { next, missing } = await copyVectorPage(source, index, profile, after)
  const waiting = new Set(await source.stillWaiting(profileId, missing))
  const others = missing.filter((chunkId) => !waiting.has(chunkId))
  const lost = others.length === 0 ? 0 : await source.awaitVectors(profileId, others)
  return { next, missing, lost }
}

/**
 * The first half of `completeVectors`, for a profile that no process makes vectors for any more: it copies the vectors
 * of the store and queues no chunk.
 */
export async function copyVectorPage(
  source: IndexSource,
  index: FedIndex,
  { profileId, languages }: ActiveProfile,
  after: string | null,
): Promise<Pick<CompletedPage, 'next' | 'missing'>> {
  const page = await index.withoutVector({ profileId, languages, after, limit: pageChunks, timeoutMs })
  if (page.outcome !== 'found') {
    const reason = page.outcome === 'unavailable' ? page.reason : 'it took too long'
    throw new Error(`cannot list the chunks without a vector: ${reason}`)
  }
  const chunkIds = page.chunks.map(({ chunkId }) => chunkId)
  const made = await copyStoredVectors(source, index, profileId, chunkIds)
  return { next: page.next, missing: chunkIds.filter((chunkId) => !made.has(chunkId)) }
}

/** Copies the vectors that the store has of these chunks into the index. Returns the chunks that have one. */
export async function copyStoredVectors(
  source: IndexSource,
  index: FedIndex,
  profileId: string,
  chunkIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const made = chunkIds.length === 0 ? [] : await source.vectors(profileId, chunkIds)
  if (made.length > 0) {
    const changes = made.map((one): IndexChange => ({ kind: 'set_vector', profileId, ...one }))
    const applied = await index.apply({ position: null, changes })
    if (applied.outcome === 'unavailable')
      throw new UnavailableError(`the index cannot take vectors: ${applied.reason}`)
  }
  return new Set(made.map(({ chunkId }) => chunkId))
}
