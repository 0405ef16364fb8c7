import { setImmediate } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'
import type { IndexHome } from './index-home.ts'
import type { ChunkRecord, IndexSource } from './index-source.ts'
import { prepareDocument } from './prepare-document.ts'
import type { IndexChange, IndexedChunk, SearchIndex } from './search-index.ts'

/**
 * What is written to the index together. To one of this process it is small enough that a search waits for milliseconds and
 * no more. One that all share is elsewhere: a batch costs the same way there and back and the same writing to its disks
 * however many documents it has. 512 documents in batches of 64, 256 and 512: 67, 158 and 161 a second in a cluster on a
 * busy machine.
 */
const portions = {
  each: { documents: 64, characters: 200_000 },
  one: { documents: 256, characters: 800_000 },
} as const

/** What one step takes while there is more. Vectors wait for it to end, so it is no more than overlapping needs. */
const portionsAtOnce = { each: 4, one: 1 } as const

/** Characters analysed before other work gets its turn: a millisecond or so. With 20,000 the slowest searches beside an import took half as long again. */
const breathCharacters = 4_000

export interface FeedStep {
  readonly position: number
  readonly documents: number
  /** Those that went in. */
  readonly chunks: readonly IndexedChunk[]
}

interface Portion {
  readonly position: number
  readonly documents: number
  readonly changes: readonly IndexChange[]
  readonly chunks: readonly ChunkRecord[]
  /** There may be more behind it. */
  readonly isFull: boolean
}

/**
 * Takes the index one step further along the store's revisions. Chunks are kept before the index learns of them, so
 * that every hit can be shown; both can be done again. Returns the position after the step, and whether that was all.
 * Where much waits, the next portion is read and prepared while one is being written: they are the work of other threads.
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
  const prepareAfter = (revision: number) => preparePortion(source, revision, { ...portions[fedBy], wholeAt })
  const fed: IndexedChunk[] = []
  let step: FeedStep = { position, documents: 0, chunks: fed }
  let portion = await prepareAfter(position)
  for (let taken = 1; portion !== null; taken++) {
    const written: Portion = portion
    const goesOn = written.isFull && taken < portionsAtOnce[fedBy]
    const [next] = await Promise.all([
      goesOn ? prepareAfter(written.position) : null,
      writePortion(source, index, written),
    ])
    for (const change of written.changes) if (change.kind === 'put_version') fed.push(...change.chunks)
    step = { position: written.position, documents: step.documents + written.documents, chunks: fed }
    portion = next
  }
  return step
}

/** Null where there is nothing. */
async function preparePortion(
  source: IndexSource,
  revision: number,
  { wholeAt, ...most }: { documents: number; characters: number; wholeAt: number },
): Promise<Portion | null> {
  const documents = await source.documentsAfter(revision, { ...most, versionsAfter: wholeAt })
  const last = documents.at(-1)
  if (last === undefined) return null
  const changes: IndexChange[] = []
  const chunks: ChunkRecord[] = []
  let characters = 0
  let sinceBreath = 0
  const breathe = async (more: number): Promise<void> => {
    characters += more
    sinceBreath += more
    if (sinceBreath < breathCharacters) return
    sinceBreath = more
    await setImmediate()
  }
  for (const document of documents) {
    const prepared = await prepareDocument(document, breathe)
    changes.push(...prepared.changes)
    for (const chunk of prepared.chunks) chunks.push(chunk)
  }
  // The store cuts by bytes, of which a character has up to three.
  const isFull = documents.length >= most.documents || characters >= most.characters / 3
  return { position: last.revision, documents: documents.length, changes, chunks, isFull }
}

async function writePortion(source: IndexSource, index: SearchIndex, portion: Portion): Promise<void> {
  const { position, changes, chunks } = portion
  if (chunks.length > 0) await source.putChunks(chunks)
  const applied = await index.apply({ position, changes })
  if (applied.outcome === 'unavailable') throw new UnavailableError(`the index cannot take changes: ${applied.reason}`)
}
