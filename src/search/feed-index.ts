import { UnavailableError } from '../errors.ts'
import type { IndexHome } from './index-home.ts'
import type { IndexSource, PreparedPortion } from './index-source.ts'
import type { PackedVector } from './packed-changes.ts'
import type { SearchIndex } from './search-index.ts'

/**
 * What is written to the index together. To one of this process it is little, so that a document that comes alone is found at
 * once; where many wait it is more, because each batch costs two writings to disk, and a small segment that is joined with
 * others later. What else is to be written to the store, or to the index, waits for some hundredths of a second then; searches
 * do not. An index that all share is elsewhere: a batch costs the same way there and back however many documents it has. 512
 * documents in batches of 64, 256 and 512: 67, 158 and 161 a second in a cluster on a busy machine.
 */
const portions = {
  each: { usual: { documents: 64, characters: 200_000 }, behind: { documents: 512, characters: 1_000_000 } },
  one: { usual: { documents: 256, characters: 800_000 }, behind: { documents: 256, characters: 800_000 } },
} as const

/** What one step takes at most while there is more. */
const portionsAtOnce = { each: 16, one: 1 } as const

export interface FeedStep {
  readonly position: number
  readonly documents: number
  /** So many of them are no longer there. */
  readonly erased: number
  /** Those that went in, and the vectors that came with them. */
  readonly chunkIds: readonly string[]
  readonly vectors: readonly PackedVector[]
  /** There is more than one step takes. */
  readonly isBehind: boolean
}

export interface FeedOptions {
  /**
   * A revision at which the index held all that the store did. A document that changed since stands at its newest revision
   * alone, so its earlier versions, up to there, are to be found nowhere else: they come along with it.
   */
  readonly wholeAt?: number
  /** What the step before said. */
  readonly isBehind?: boolean
  /** Whether the step may go on: it should not while somebody waits for its end. */
  readonly mayGoOn?: () => boolean
}

/**
 * Takes the index one step further along the store's revisions. Chunks are kept before the index learns of them, so
 * that every hit can be shown; both can be done again. Returns the position after the step, and whether that was all.
 *
 * Where much waits, three portions are under way, which are the work of three threads: one is read and prepared, the chunks
 * of one are kept, one is written to the index. When this ends, none is, however it ends.
 */
export async function feedIndex(
  source: IndexSource,
  index: SearchIndex,
  position: number,
  fedBy: IndexHome['fedBy'],
  { wholeAt = 0, isBehind = false, mayGoOn = () => true }: FeedOptions = {},
): Promise<FeedStep> {
  const read = (after: number, many: boolean): Promise<PreparedPortion | null> => {
    const limits = portions[fedBy][many ? 'behind' : 'usual']
    return heardLater(source.preparedAfter(after, { ...limits, versionsAfter: wholeAt, isBehind: many }))
  }
  const chunkIds: string[] = []
  const vectors: PackedVector[] = []
  let step: FeedStep = { position, documents: 0, erased: 0, chunkIds, vectors, isBehind: false }
  let writing: Promise<void> | null = null
  let reading: Promise<PreparedPortion | null> | null = read(position, isBehind)
  try {
    for (let taken = 1; reading !== null; taken++) {
      const portion: PreparedPortion | null = await reading
      reading = null
      if (portion === null) break
      const goesOn = portion.isFull && taken < portionsAtOnce[fedBy] && mayGoOn()
      if (goesOn) reading = read(portion.position, true)
      if (portion.chunks.length > 0) await source.putChunks(portion.chunks)
      await writing
      writing = heardLater(write(index, portion))
      for (const { chunkId } of portion.chunks) chunkIds.push(chunkId)
      for (const vector of portion.changes.vectors) vectors.push(vector)
      const documents = step.documents + portion.documents
      const erased = step.erased + portion.erased
      step = { position: portion.position, documents, erased, chunkIds, vectors, isBehind: portion.isFull }
    }
    await writing
    return step
  } finally {
    await Promise.allSettled([reading, writing])
  }
}

/** What fails while another portion is waited for is told when its own turn comes; until then nobody listens, which would end the process. */
function heardLater<T>(underWay: Promise<T>): Promise<T> {
  underWay.catch(() => {})
  return underWay
}

async function write(index: SearchIndex, { position, changes }: PreparedPortion): Promise<void> {
  const applied = await index.apply({ position, changes })
  if (applied.outcome === 'unavailable') throw new UnavailableError(`the index cannot take changes: ${applied.reason}`)
}
