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
  gatherPrefix(segment: Segment, positions: Uint32Array<ArrayBufferLike>): PrefixChunks
}

/**
 * Prefixes of so few letters occur in most chunks, and collecting their chunks takes long. There are few of them, so
 * the result is cached for each segment.
 */
const cachedLettersMax = 2
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const cachedPrefixesMax = 64

const encoder = new TextEncoder()

export class PrefixWords {
  readonly #dictionary: TermDictionary
  readonly #kernel: PrefixKernel
  readonly #cache = new LRUCache<string, PrefixLists>({ max: cachedPrefixesMax })
  #epoch = 0

  constructor(dictionary: TermDictionary, kernel: PrefixKernel) {
    this.#dictionary = dictionary
    this.#kernel = kernel
  }

  /**
   * Returns `null` if the time runs out. The result is invalid if the epoch of the dictionary has changed meanwhile.
   */
  lists(segments: readonly Segment[], prefix: string, deadline: number): PrefixLists | null {
    const { epoch } = this.#dictionary
    if (epoch !== this.#epoch) this.#cache.clear()
    this.#epoch = epoch
    const known = this.#cache.get(prefix)
    const lists = new Map<SegmentData, PrefixChunks>()
    const bytes = encoder.encode(prefix)
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const { data, order } = segment
      const gather = () =>
        this.#kernel.gatherPrefix(segment, positionsWithPrefix(data.term, order, this.#dictionary, bytes))
      lists.set(data, known?.get(data) ?? gather())
    }
    if ([...prefix].length <= cachedLettersMax) this.#cache.set(prefix, lists)
    return lists
  }
}

/** The frequency of a prefix, title << 16 | body: at most one in each field. 0 for a chunk without such a term. */
export function prefixFrequency({ titles, bodies }: PrefixChunks, chunk: number): number {
  const inTitle = (titles[chunk >>> 5]! >>> chunk) & 1
  const inBody = (bodies[chunk >>> 5]! >>> chunk) & 1
  return (inTitle << 16) | inBody
}
