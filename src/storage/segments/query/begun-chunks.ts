import { fieldsAt, type SegmentImage } from '../format/segment-image.ts'
import type { Segment } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { placesBegun } from '../memory/word-order.ts'

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

const encoder = new TextEncoder()

/** `null` when time runs out. */
export function begunLists(
  segments: readonly Segment[],
  dictionary: TermDictionary,
  beginning: string,
  kernel: BegunKernel,
  deadline: number,
): BegunLists | null {
  const lists = new Map<SegmentImage, BegunChunks>()
  const bytes = encoder.encode(beginning)
  for (const segment of segments) {
    if (performance.now() > deadline) return null
    const { image, order } = segment
    lists.set(image, kernel.gatherBegun(segment, placesBegun(image.term, order, dictionary, bytes)))
  }
  return lists
}

/** The terms of a segment that begin so, by their numbers. */
export function* termsBegun(
  { image, order }: Segment,
  dictionary: TermDictionary,
  beginning: string,
): Generator<number> {
  for (const place of placesBegun(image.term, order, dictionary, encoder.encode(beginning))) yield image.term[place]!
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

export function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
