import type { InputPortion } from './algorithm.ts'
import type { AnalysisStore, InputChunk } from './analysis-store.ts'

/** Read by one call to the store: a few milliseconds of a reader, about 1 MB. */
const chunksAtOnce = 256

/**
 * The chunks of a run as its algorithm gets them, in their order. A chunk whose vector is gone by now, or has other
 * dimensions than the profile, is left out; without a profile none has a vector. A further column is read here.
 */
export async function* inputPortions(
  chunks: readonly InputChunk[],
  profileId: string | null,
  dimensions: number,
  store: AnalysisStore,
): AsyncGenerator<InputPortion> {
  for (let start = 0; start < chunks.length; start += chunksAtOnce) {
    const some = chunks.slice(start, start + chunksAtOnce)
    const vectorOf = await vectorsOf(some, profileId, store)
    const usable = vectorOf === null ? some : some.filter(({ chunkId }) => vectorOf.get(chunkId)?.length === dimensions)
    const vectors = new Float32Array(usable.length * dimensions)
    for (const [i, { chunkId }] of usable.entries()) vectors.set(vectorOf?.get(chunkId) ?? [], i * dimensions)
    yield {
      chunkIds: usable.map(({ chunkId }) => chunkId),
      documentIds: usable.map(({ documentId }) => documentId),
      versionIds: usable.map(({ versionId }) => versionId),
      vectors,
    }
  }
}

async function vectorsOf(
  chunks: readonly InputChunk[],
  profileId: string | null,
  store: AnalysisStore,
): Promise<ReadonlyMap<string, Float32Array> | null> {
  if (profileId === null) return null
  const ids = chunks.map(({ chunkId }) => chunkId)
  return new Map((await store.chunkVectors(profileId, ids)).map(({ chunkId, vector }) => [chunkId, vector]))
}

/** A profile whose endpoint has not yet said its dimensions: the first vector does. 0 without a profile. */
export async function dimensionsOf(
  chunks: readonly InputChunk[],
  profileId: string | null,
  store: AnalysisStore,
): Promise<number> {
  if (profileId === null) return 0
  const known = (await store.profile(profileId))?.dimensions ?? null
  if (known !== null || chunks.length === 0) return known ?? 1
  const [first] = await store.chunkVectors(profileId, [chunks[0]!.chunkId])
  return first?.vector.length ?? 1
}
