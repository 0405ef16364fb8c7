import { UnavailableError } from '../platform/errors.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import type { FedIndex } from './fed-index.ts'
import type { IndexHome } from './index-home.ts'
import type { IndexSource, PreparedPortion } from './index-source.ts'
import type { PackedVector } from './packed-changes.ts'

/**
 * The size of a batch for the index. An index of this process (`each`) gets small batches, so that a single document is
 * found at once. If many documents wait, the batches are larger, because each batch costs two disk writes and a small
 * segment that is merged later. Other writes to the store or the index then wait for some hundredths of a second;
 * searches do not. An index that all processes share (`one`) is remote: the round trip of a batch costs the same for
 * any number of documents.
 */
const portions = {
  each: { usual: { documents: 64, characters: 200_000 }, behind: { documents: 512, characters: 1_000_000 } },
  one: { usual: { documents: 256, characters: 800_000 }, behind: { documents: 256, characters: 800_000 } },
} as const

/** The largest number of batches in one step while more documents wait. */
const portionsAtOnce = { each: 16, one: 1 } as const

export interface FeedStep {
  readonly position: number
  readonly documents: number
  /** The number of erased documents among them. */
  readonly erased: number
  /** The chunks that were added, and the vectors that came with them. */
  readonly chunkIds: readonly string[]
  readonly vectors: readonly PackedVector[]
  /** More documents wait than one step takes. */
  readonly isBehind: boolean
}

export interface FeedOptions {
  /**
   * A revision at which the index held everything that the store held. A document that changed since is listed only at
   * its newest revision, so its earlier versions up to that revision come along with it.
   */
  readonly completeAt?: number
  /** `isBehind` of the previous step. */
  readonly isBehind?: boolean
  /** Whether the step may continue. It should not while a caller waits for its end. */
  readonly mayContinue?: () => boolean
  /** Called with each revision that the index has completed. */
  readonly wrote?: (revision: number) => void
  readonly tracer?: Tracer
}

/**
 * Feeds the next documents to the index, in the order of their revisions in the store. Chunks are stored before the
 * index gets them, so that every hit can be shown; both writes can be repeated.
 *
 * If many documents wait, three batches are in progress on three threads: one is read and prepared, the chunks of one
 * are stored, and one is written to the index. No batch is in progress when this returns or throws.
 */
export async function feedIndex(
  source: IndexSource,
  index: FedIndex,
  position: number,
  fedBy: IndexHome['fedBy'],
  { completeAt = 0, isBehind = false, mayContinue = () => true, wrote = () => {}, tracer = untraced }: FeedOptions = {},
): Promise<FeedStep> {
  const read = (after: number, many: boolean): Promise<PreparedPortion | null> => {
    const limits = portions[fedBy][many ? 'behind' : 'usual']
    return handledLater(source.preparedAfter(after, { ...limits, versionsAfter: completeAt, isBehind: many }))
  }
  const chunkIds: string[] = []
  const vectors: PackedVector[] = []
  let step: FeedStep = { position, documents: 0, erased: 0, chunkIds, vectors, isBehind: false }
  const first = await read(position, isBehind)
  // A check that finds nothing is not part of a trace.
  if (first === null) return step
  const feed = async (): Promise<FeedStep> => {
    let writing: Promise<void> | null = null
    let reading: Promise<PreparedPortion | null> | null = null
    try {
      for (let portion: PreparedPortion | null = first, taken = 1; portion !== null; taken++) {
        const { documents, erased, chunks, changes } = portion
        const continues: boolean = portion.isFull && taken < portionsAtOnce[fedBy] && mayContinue()
        reading = continues ? read(portion.position, true) : null
        if (chunks.length > 0) await source.putChunks(chunks)
        await writing
        writing = handledLater(write(index, portion, wrote))
        for (const { chunkId } of chunks) chunkIds.push(chunkId)
        for (const vector of changes.vectors) vectors.push(vector)
        step = {
          position: portion.position,
          documents: step.documents + documents,
          erased: step.erased + erased,
          chunkIds,
          vectors,
          isBehind: portion.isFull,
        }
        portion = await reading
      }
      await writing
      return step
    } finally {
      await Promise.allSettled([reading, writing])
    }
  }
  return tracer.span('index feed', feed, { 'tidemark.documents': first.documents })
}

/**
 * Marks a rejection as handled. The error is thrown when the promise is awaited; until then an unhandled rejection
 * would end the process.
 */
function handledLater<T>(underWay: Promise<T>): Promise<T> {
  underWay.catch(() => {})
  return underWay
}

async function write(
  index: FedIndex,
  { position, changes }: PreparedPortion,
  wrote: (revision: number) => void,
): Promise<void> {
  const applied = await index.apply({ position, changes })
  if (applied.outcome === 'unavailable') throw new UnavailableError(`the index cannot take changes: ${applied.reason}`)
  wrote(position)
}
