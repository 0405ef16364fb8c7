import { countBits } from '../format/count-bits.ts'
import { fieldsAt, type SegmentImage } from '../format/segment-image.ts'
import type { Segment } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { placesBegun } from '../memory/word-order.ts'
import { RecentlyUsed } from './recently-used.ts'

/** The chunks of one segment that hold a term of many: a bit for each whose title does, and for each whose body does. */
export interface BegunChunks {
  readonly titles: Uint32Array
  readonly bodies: Uint32Array
  readonly count: number
}

/** Those of every segment. */
export type BegunLists = ReadonlyMap<SegmentImage, BegunChunks>

export interface BegunKernel {
  /** The chunks with the terms at these places of a segment's list. */
  gatherBegun(segment: Segment, places: Uint32Array<ArrayBufferLike>): BegunChunks
}

/**
 * Beginnings of so many letters stand in most chunks: to put theirs together takes some 20 ms a million chunks, and longer
 * ones a few. They are few themselves, so that it is done once for each segment.
 */
const keptLettersMax = 2
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const beginningsKept = 64

const encoder = new TextEncoder()

export class BegunWords {
  readonly #dictionary: TermDictionary
  readonly #kernel: BegunKernel
  readonly #kept = new RecentlyUsed<Map<SegmentImage, BegunChunks>>(beginningsKept)
  #epoch = 0

  constructor(dictionary: TermDictionary, kernel: BegunKernel) {
    this.#dictionary = dictionary
    this.#kernel = kernel
  }

  /** `null` when time runs out. What it gives is of no use where the epoch of the dictionary has changed meanwhile. */
  lists(segments: readonly Segment[], beginning: string, deadline: number): BegunLists | null {
    const known = this.#knownOf(beginning)
    const lists = new Map<SegmentImage, BegunChunks>()
    const bytes = encoder.encode(beginning)
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const { image, order } = segment
      const gather = () => this.#kernel.gatherBegun(segment, placesBegun(image.term, order, this.#dictionary, bytes))
      lists.set(image, known?.get(image) ?? gather())
    }
    if (known !== null) {
      // Without those of segments that are gone.
      known.clear()
      for (const [image, begun] of lists) known.set(image, begun)
    }
    return lists
  }

  #knownOf(beginning: string): Map<SegmentImage, BegunChunks> | null {
    const { epoch } = this.#dictionary
    if (epoch !== this.#epoch) this.#kept.clear()
    this.#epoch = epoch
    return [...beginning].length > keptLettersMax ? null : this.#kept.get(beginning, () => new Map())
  }
}

export function gatherBegun({ image }: Segment, places: Uint32Array<ArrayBufferLike>): BegunChunks {
  const { postingChunk, postingStart } = image
  const titles = new Uint32Array((image.chunks + 31) >>> 5)
  const bodies = new Uint32Array(titles.length)
  for (const place of places) {
    for (let posting = postingStart[place]!; posting < postingStart[place + 1]!; posting++) {
      const chunk = postingChunk[posting]!
      const fields = fieldsAt(image, posting)
      titles[chunk >>> 5]! |= (fields & 1) << chunk
      bodies[chunk >>> 5]! |= (fields >>> 1) << chunk
    }
  }
  let count = 0
  for (let i = 0; i < titles.length; i++) count += countBits(titles[i]! | bodies[i]!)
  return { titles, bodies, count }
}

/** As a frequency, title << 16 | body: once in each field. 0 for a chunk that holds none. */
export function begunFrequency({ titles, bodies }: BegunChunks, chunk: number): number {
  const inTitle = (titles[chunk >>> 5]! >>> chunk) & 1
  const inBody = (bodies[chunk >>> 5]! >>> chunk) & 1
  return (inTitle << 16) | inBody
}
