import { setImmediate } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'
import type { IndexHome } from './index-home.ts'
import type { ChunkRecord, IndexSource } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'
import type { IndexChange, IndexedChunk, SearchIndex } from './search-index.ts'

/**
 * What one step takes. Of an index of this process it is small enough that a search waits for milliseconds and no more. One
 * that all share is elsewhere: a batch costs the same way there and back and the same writing to its disks however many
 * documents it has. 512 documents in steps of 64, 256 and 512: 67, 158 and 161 a second in a cluster on a busy machine.
 */
const steps = {
  each: { documents: 64, characters: 200_000 },
  one: { documents: 256, characters: 800_000 },
} as const

/** Characters analysed before other work gets its turn: a few milliseconds. */
const breathCharacters = 20_000

export interface FeedStep {
  readonly position: number
  readonly documents: number
  /** Those that went in. */
  readonly chunks: readonly IndexedChunk[]
}

/**
 * Takes the index one step further along the store's revisions. Chunks are kept before the index learns of them, so
 * that every hit can be shown; both can be done again. Returns the position after the step, and whether that was all.
 *
 * `wholeAt` is a revision at which the index held all that the store did. A document that changed since stands at its
 * newest revision alone, so its earlier versions, up to there, are to be found nowhere else: they come along with it.
 */
export async function feedIndex(
  source: IndexSource,
  index: SearchIndex,
  position: number,
  fedBy: IndexHome['fedBy'],
  wholeAt = 0,
): Promise<FeedStep> {
  const documents = await source.documentsAfter(position, { ...steps[fedBy], versionsAfter: wholeAt })
  const last = documents.at(-1)
  if (last === undefined) return { position, documents: 0, chunks: [] }
  const changes: IndexChange[] = []
  const chunks: ChunkRecord[] = []
  let characters = 0
  const breathe = async (more: number): Promise<void> => {
    characters += more
    if (characters < breathCharacters) return
    characters = more
    await setImmediate()
  }
  for (const document of documents) {
    const prepared = await prepareDocument(document, breathe)
    changes.push(...prepared.changes)
    for (const chunk of prepared.chunks) chunks.push(chunk)
  }
  if (chunks.length > 0) await source.putChunks(chunks)
  const applied = await index.apply({ position: last.revision, changes })
  if (applied.outcome === 'unavailable') throw new UnavailableError(`the index cannot take changes: ${applied.reason}`)
  const fed = changes.flatMap((change) => (change.kind === 'put_version' ? change.chunks : []))
  return { position: last.revision, documents: documents.length, chunks: fed }
}
