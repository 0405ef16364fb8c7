import { setImmediate } from 'node:timers/promises'
import type { ChunkRecord, IndexSource } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'
import type { IndexChange, SearchIndex } from './search-index.ts'

/** One step: small enough that it holds the main thread for milliseconds and a search waits for no more. */
const stepDocuments = 64
const stepCharacters = 200_000

/** Documents prepared before other work gets its turn. */
const breathEvery = 8

/**
 * Takes the index one step further along the store's revisions. Chunks are kept before the index learns of them, so
 * that every hit can be shown; both can be done again. Returns the position after the step, and whether that was all.
 */
export async function feedIndex(
  source: IndexSource,
  index: SearchIndex,
  position: number,
  profileIds: readonly string[],
): Promise<{ position: number; documents: number }> {
  const documents = await source.documentsAfter(position, { documents: stepDocuments, characters: stepCharacters })
  const last = documents.at(-1)
  if (last === undefined) return { position, documents: 0 }
  const changes: IndexChange[] = []
  const chunks: ChunkRecord[] = []
  for (const [i, document] of documents.entries()) {
    const prepared = prepareDocument(document)
    changes.push(...prepared.changes)
    chunks.push(...prepared.chunks)
    if (i % breathEvery === breathEvery - 1) await setImmediate()
  }
  if (chunks.length > 0) await source.putChunks(chunks, profileIds)
  const applied = await index.apply({ position: last.revision, changes })
  if (applied.outcome === 'unavailable') throw new Error(`the index cannot take changes: ${applied.reason}`)
  return { position: last.revision, documents: documents.length }
}
