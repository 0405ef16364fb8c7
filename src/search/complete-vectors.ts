import { UnavailableError } from '../errors.ts'
import type { IndexSource, MadeProfile } from './index-source.ts'
import type { IndexChange, SearchIndex } from './search-index.ts'

const pageChunks = 256
const timeoutMs = 30_000

export interface CompletedPage {
  /** Where to go on; null at the end. */
  readonly next: string | null
  /** Chunks of this page that still lack their vector: it is not made yet, or never will be. */
  readonly lacking: readonly string[]
  /** Chunks of this page that did not even wait for one. They do now. */
  readonly lost: number
}

/**
 * Brings vectors that the store has and the index lacks into the index, a page of them at a time, beginning after a
 * document; and makes the other chunks of the page wait for theirs. It costs as much as the index lacks: mostly nothing.
 */
export async function completeVectors(
  source: IndexSource,
  index: SearchIndex,
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

/** The first half of it: a profile that no process makes any more gets what the store has of it, and nothing waits. */
export async function bringPage(
  source: IndexSource,
  index: SearchIndex,
  { profileId, languages }: MadeProfile,
  after: string | null,
): Promise<Pick<CompletedPage, 'next' | 'lacking'>> {
  const page = await index.withoutVector({ profileId, languages, after, limit: pageChunks, timeoutMs })
  if (page.outcome !== 'found') {
    const reason = page.outcome === 'unavailable' ? page.reason : 'it took too long'
    throw new Error(`the index does not say which vectors it lacks: ${reason}`)
  }
  const chunkIds = page.chunks.map(({ chunkId }) => chunkId)
  const made = await bringVectors(source, index, profileId, chunkIds)
  return { next: page.next, lacking: chunkIds.filter((chunkId) => !made.has(chunkId)) }
}

/** Puts what the store has of these chunks' vectors into the index. Returns the chunks that have one. */
export async function bringVectors(
  source: IndexSource,
  index: SearchIndex,
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
