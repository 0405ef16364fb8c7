import type { Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import { UnavailableError } from '../platform/errors.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import type { FedIndex, IndexChange } from './fed-index.ts'
import type { IndexSource, StoredVector, WaitingChunk } from './index-source.ts'

const stepChunks = 32

export interface MadeVectors {
  /** Chunks whose vectors are in the store now, and in the index if this process feeds it. */
  readonly made: readonly string[]
  /** Chunks whose texts the provider will never take. */
  readonly refused: readonly string[]
}

/**
 * Makes vectors for chunks that wait for one. They are stored, then given to the index, and only then taken off the
 * queue, so that none is lost if this stops at any point. `exclusively` applies the vectors while no documents are fed.
 * It returns null if another process feeds the index: that process finds the vectors in the store.
 */
export async function makeVectors(
  source: IndexSource,
  index: FedIndex,
  embedder: Embedder,
  exclusively: <T>(work: () => Promise<T>) => Promise<T | null>,
  signal: AbortSignal,
  tracer: Tracer = untraced,
): Promise<MadeVectors> {
  const waiting = await source.waitingChunks(embedder.profileId, stepChunks)
  if (waiting.length === 0) return { made: [], refused: [] }
  const make = () => makeOf(waiting, { source, index, embedder, exclusively, signal })
  return tracer.span('vectors make', make, { 'tidemark.model': embedder.model, 'tidemark.chunks': waiting.length })
}

interface Making {
  readonly source: IndexSource
  readonly index: FedIndex
  readonly embedder: Embedder
  readonly exclusively: <T>(work: () => Promise<T>) => Promise<T | null>
  readonly signal: AbortSignal
}

async function makeOf(
  waiting: readonly WaitingChunk[],
  { source, index, embedder, exclusively, signal }: Making,
): Promise<MadeVectors> {
  const made = await embedAll(waiting, embedder, signal)
  const stored = new Set(waiting.flatMap(({ chunkId, vector }) => (vector === null ? [] : chunkId)))
  const fresh = made.filter(({ chunkId }) => !stored.has(chunkId))
  if (fresh.length > 0) await source.putVectors(embedder.profileId, fresh)
  const documentOf = new Map(waiting.map(({ chunkId, documentId }) => [chunkId, documentId]))
  const changes = made.map(({ chunkId, vector }): IndexChange => {
    return { kind: 'set_vector', documentId: documentOf.get(chunkId)!, chunkId, profileId: embedder.profileId, vector }
  })
  const applied = await exclusively(() => index.apply({ position: null, changes }))
  if (applied?.outcome === 'unavailable') throw new UnavailableError(`the index cannot take vectors: ${applied.reason}`)
  const withVector = new Set(made.map(({ chunkId }) => chunkId))
  await source.doneWaiting(embedder.profileId, [...withVector])
  const refused = waiting.map(({ chunkId }) => chunkId).filter((chunkId) => !withVector.has(chunkId))
  if (refused.length > 0) await source.refuseVectors(embedder.profileId, refused)
  return { made: [...withVector], refused }
}

/** A text is embedded only if neither this chunk nor another one has its vector. */
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
      // Single texts are at fault: the others are sent again without them. Any other error is temporary.
      if (!(error instanceof EmbeddingError) || error.retryable || error.textIndexes.length === 0) throw error
      const atFault = new Set(error.textIndexes)
      left = left.filter((_, i) => !atFault.has(i))
    }
  }
  return made
}
