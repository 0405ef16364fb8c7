import { LRUCache } from 'lru-cache'
import type { SegmentData } from '../format/segment-data.ts'
import type { Segment } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { positionsWithPrefix } from '../memory/word-order.ts'

/**
 * The chunks of one segment that contain one of many terms: a bit for each chunk whose title does, and for each whose
 * body does.
 */
export interface PrefixChunks {
  readonly titles: Uint32Array
  readonly bodies: Uint32Array
  readonly count: number
}

/** The chunks of every segment. */
export type PrefixLists = ReadonlyMap<SegmentData, PrefixChunks>

interface PrefixKernel {
  gatherPrefix(segment: Segment, places: Uint32Array<ArrayBufferLike>): PrefixChunks
}

/**
 * Prefixes of so few letters occur in most chunks: collecting their chunks takes some 20 ms a million chunks, and a few
 * for longer ones. There are few such prefixes, so the result is kept for each segment.
 */
const keptLettersMax = 2
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const prefixesKept = 64

const encoder = new TextEncoder()

export class PrefixWords {
  readonly #dictionary: TermDictionary
  readonly #kernel: PrefixKernel
  readonly #kept = new LRUCache<string, PrefixLists>({ max: prefixesKept })
  #epoch = 0

  constructor(dictionary: TermDictionary, kernel: PrefixKernel) {
    this.#dictionary = dictionary
    this.#kernel = kernel
  }

  /** `null` if the time runs out. The result is invalid if the epoch of the dictionary has changed meanwhile. */
  lists(segments: readonly Segment[], beginning: string, deadline: number): PrefixLists | null {
    const { epoch } = this.#dictionary
    if (epoch !== this.#epoch) this.#kept.clear()
    this.#epoch = epoch
    const known = this.#kept.get(beginning)
    const lists = new Map<SegmentData, PrefixChunks>()
    const bytes = encoder.encode(beginning)
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const { image, order } = segment
      const gather = () =>
        this.#kernel.gatherPrefix(segment, positionsWithPrefix(image.term, order, this.#dictionary, bytes))
      lists.set(image, known?.get(image) ?? gather())
    }
    if ([...beginning].length <= keptLettersMax) this.#kept.set(beginning, lists)
    return lists
  }
}

/** The result as a frequency, title << 16 | body: at most one in each field. 0 for a chunk without such a term. */
export function prefixFrequency({ titles, bodies }: PrefixChunks, chunk: number): number {
  const inTitle = (titles[chunk >>> 5]! >>> chunk) & 1
  const inBody = (bodies[chunk >>> 5]! >>> chunk) & 1
  return (inTitle << 16) | inBody
}
