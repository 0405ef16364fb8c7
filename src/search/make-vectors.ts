import type { Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import { UnavailableError } from '../errors.ts'
import type { IndexSource, StoredVector, WaitingChunk } from './index-source.ts'
import type { IndexChange, SearchIndex } from './search-index.ts'

const stepChunks = 32

export interface MadeVectors {
  /** Chunks whose vectors are in the store now, and in the index of who feeds it. */
  readonly made: readonly string[]
  /** Chunks whose texts the provider will never take. */
  readonly refused: readonly string[]
}

/**
 * Makes vectors for chunks that wait for one: kept in the store, then given to the index, and only then taken off the
 * list, so that nothing is forgotten wherever this stops. `alone` runs the handing over while no words are fed, or gives
 * null where another process feeds the index: that one finds them in the store.
 */
export async function makeVectors(
  source: IndexSource,
  index: SearchIndex,
  embedder: Embedder,
  alone: <T>(work: () => Promise<T>) => Promise<T | null>,
  signal: AbortSignal,
): Promise<MadeVectors> {
  const waiting = await source.waitingChunks(embedder.profileId, stepChunks)
  if (waiting.length === 0) return { made: [], refused: [] }
  const made = await embedAll(waiting, embedder, signal)
  const stored = new Set(waiting.flatMap(({ chunkId, vector }) => (vector === null ? [] : chunkId)))
  const fresh = made.filter(({ chunkId }) => !stored.has(chunkId))
  if (fresh.length > 0) await source.putVectors(embedder.profileId, fresh)
  const documentOf = new Map(waiting.map(({ chunkId, documentId }) => [chunkId, documentId]))
  const changes = made.map(({ chunkId, vector }): IndexChange => {
    return { kind: 'set_vector', documentId: documentOf.get(chunkId)!, chunkId, profileId: embedder.profileId, vector }
  })
  const applied = await alone(() => index.apply({ position: null, changes }))
  if (applied?.outcome === 'unavailable') throw new UnavailableError(`the index cannot take vectors: ${applied.reason}`)
  const has = new Set(made.map(({ chunkId }) => chunkId))
  await source.doneWaiting(embedder.profileId, [...has])
  const refused = waiting.map(({ chunkId }) => chunkId).filter((chunkId) => !has.has(chunkId))
  if (refused.length > 0) await source.refuseVectors(embedder.profileId, refused)
  return { made: [...has], refused }
}

/** No text is embedded that has a vector, of this chunk or of another. */
async function embedAll(
  waiting: readonly WaitingChunk[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<StoredVector[]> {
  const made: StoredVector[] = []
  const withText = new Map<string, string[]>()
  for (const { chunkId, vector, twin, text } of waiting) {
    const known = vector ?? twin
    if (known !== null) made.push({ chunkId, vector: known })
    else withText.set(text, [...(withText.get(text) ?? []), chunkId])
  }
  let left = [...withText.keys()]
  while (left.length > 0) {
    try {
      const vectors = await embedder.embed(left, 'passage', signal)
      for (const [i, text] of left.entries()) {
        for (const chunkId of withText.get(text)!) made.push({ chunkId, vector: vectors[i]! })
      }
      return made
    } catch (error) {
      // Single texts at fault: the others are sent again without them. Anything else is a trouble that passes.
      if (!(error instanceof EmbeddingError) || error.retryable || error.textIndexes.length === 0) throw error
      const atFault = new Set(error.textIndexes)
      left = left.filter((_, i) => !atFault.has(i))
    }
  }
  return made
}
