import { UnavailableError } from '../errors.ts'
import type { IndexHome } from './index-home.ts'
import type { IndexSource, PreparedPortion } from './index-source.ts'
import type { IndexedChunk, SearchIndex } from './search-index.ts'

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

export interface FeedStep {
  readonly position: number
  readonly documents: number
  /** Those that went in. */
  readonly chunks: readonly IndexedChunk[]
  /** There is more than one step takes. */
  readonly isBehind: boolean
}

/**
 * Takes the index one step further along the store's revisions. Chunks are kept before the index learns of them, so
 * that every hit can be shown; both can be done again. Returns the position after the step, and whether that was all.
 * Where much waits, the next portion is read and prepared while one is being written: they are the work of other threads.
 *
 * `wholeAt` is a revision at which the index held all that the store did. A document that changed since stands at its
 * newest revision alone, so its earlier versions, up to there, are to be found nowhere else: they come along with it.
 * `isBehind` is what the step before said.
 */
export async function feedIndex(
  source: IndexSource,
  index: SearchIndex,
  position: number,
  fedBy: IndexHome['fedBy'],
  { wholeAt = 0, isBehind = false }: { wholeAt?: number; isBehind?: boolean } = {},
): Promise<FeedStep> {
  const limits = { ...portions[fedBy], versionsAfter: wholeAt }
  const fed: IndexedChunk[] = []
  let step: FeedStep = { position, documents: 0, chunks: fed, isBehind: false }
  let portion = await source.preparedAfter(position, { ...limits, isBehind })
  for (let taken = 1; portion !== null; taken++) {
    const written: PreparedPortion = portion
    const goesOn = written.isFull && taken < portionsAtOnce[fedBy]
    const [next] = await Promise.all([
      goesOn ? source.preparedAfter(written.position, { ...limits, isBehind: true }) : null,
      writePortion(source, index, written),
    ])
    for (const change of written.changes) if (change.kind === 'put_version') fed.push(...change.chunks)
    const documents = step.documents + written.documents
    step = { position: written.position, documents, chunks: fed, isBehind: written.isFull }
    portion = next
  }
  return step
}

async function writePortion(source: IndexSource, index: SearchIndex, portion: PreparedPortion): Promise<void> {
  const { position, changes, chunks } = portion
  if (chunks.length > 0) await source.putChunks(chunks)
  const applied = await index.apply({ position, changes })
  if (applied.outcome === 'unavailable') throw new UnavailableError(`the index cannot take changes: ${applied.reason}`)
}
