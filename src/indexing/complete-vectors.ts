import { UnavailableError } from '../platform/errors.ts'
import type { FedIndex, IndexChange } from './fed-index.ts'
import type { IndexSource, MadeProfile } from './index-source.ts'

const pageChunks = 256
const timeoutMs = 30_000

export interface CompletedPage {
  /** The document after which the next page starts; null at the end. */
  readonly next: string | null
  /** Chunks of this page that still lack a vector: it is not made yet, or the model refused the text. */
  readonly lacking: readonly string[]
  /** The number of chunks of this page that had no vector and did not wait for one. They wait now. */
  readonly lost: number
}

/**
 * Copies one page of vectors that the store has and the index lacks into the index, starting after a document. The
 * other chunks of the page are made to wait for a vector. The cost depends on what the index lacks, which is usually
 * nothing.
 */
export async function completeVectors(
  source: IndexSource,
  index: FedIndex,
  profile: MadeProfile,
  after: string | null,
): Promise<CompletedPage> {
  const { profileId } = profile
  const { next, lacking } = await bringPage(source, index, profile, after)
  const waiting = new Set(await source.stillWaiting(profileId, lacking))
  const others = lacking.filter((chunkId) => !waiting.has(chunkId))
  const lost = others.length === 0 ? 0 : await source.awaitVectors(profileId, others)
  return { next, lacking, lost }
}

/**
 * The first half of `completeVectors`, for a profile that no process makes vectors of any more: copies the vectors of
 * the store, and no chunk is made to wait.
 */
export async function bringPage(
  source: IndexSource,
  index: FedIndex,
  { profileId, languages }: MadeProfile,
  after: string | null,
): Promise<Pick<CompletedPage, 'next' | 'lacking'>> {
  const page = await index.withoutVector({ profileId, languages, after, limit: pageChunks, timeoutMs })
  if (page.outcome !== 'found') {
    const reason = page.outcome === 'unavailable' ? page.reason : 'it took too long'
    throw new Error(`cannot list the vectors that the index lacks: ${reason}`)
  }
  const chunkIds = page.chunks.map(({ chunkId }) => chunkId)
  const made = await bringVectors(source, index, profileId, chunkIds)
  return { next: page.next, lacking: chunkIds.filter((chunkId) => !made.has(chunkId)) }
}

/** Copies the vectors that the store has of these chunks into the index. Returns the chunks that have one. */
export async function bringVectors(
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
