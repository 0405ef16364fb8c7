import { fieldsAt, findTerm, type SegmentImage, segmentChunksMax } from '../format/segment-image.ts'
import type { Segment } from '../memory/segment.ts'
import { ChunkSet } from './chunk-set.ts'

/** The chunks of one segment that hold a term of many, in which fields: 1 title, 2 body. */
export interface BegunChunks {
  /** Ascending. */
  readonly chunks: Uint16Array
  readonly fields: Uint8Array
}

/** Those of every segment. */
export type BegunLists = ReadonlyMap<SegmentImage, BegunChunks>

/** A list of terms this many times shorter than the segment's is looked up one by one. */
const lookUpRatio = 16

/** A thread answers one call at a time, so these are its own. */
const fieldsOf = new Uint8Array(segmentChunksMax)
const list = new Uint16Array(segmentChunksMax)
const held = new ChunkSet()

/** `terms` ascend. `null` when time runs out. */
export function begunLists(
  segments: readonly Segment[],
  terms: readonly number[],
  deadline: number,
): BegunLists | null {
  const lists = new Map<SegmentImage, BegunChunks>()
  for (const { image } of segments) {
    if (performance.now() > deadline) return null
    lists.set(image, begunChunks(image, terms))
  }
  return lists
}

function begunChunks(image: SegmentImage, terms: readonly number[]): BegunChunks {
  held.clear()
  if (terms.length * lookUpRatio < image.terms) {
    for (const term of terms) addPostings(image, findTerm(image, term))
  } else {
    let at = 0
    for (const term of terms) {
      while (at < image.terms && image.term[at]! < term) at++
      if (image.term[at] === term) addPostings(image, at)
    }
  }
  const count = held.toList(list, image.chunks)
  const chunks = list.slice(0, count)
  const fields = new Uint8Array(count)
  for (let i = 0; i < count; i++) {
    fields[i] = fieldsOf[chunks[i]!]!
    fieldsOf[chunks[i]!] = 0
  }
  return { chunks, fields }
}

function addPostings(image: SegmentImage, at: number): void {
  if (at < 0) return
  const { postingChunk, postingStart } = image
  const end = postingStart[at + 1]!
  for (let posting = postingStart[at]!; posting < end; posting++) {
    const chunk = postingChunk[posting]!
    held.add(chunk)
    fieldsOf[chunk]! |= fieldsAt(image, posting)
  }
}

/** As a frequency, title << 16 | body: once in each field. 0 for a chunk that is not in the list. */
export function begunFrequency({ chunks, fields }: BegunChunks, chunk: number): number {
  let low = 0
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (chunks[middle]! < chunk) low = middle + 1
    else high = middle
  }
  return low < chunks.length && chunks[low] === chunk ? onceIn(fields[low]!) : 0
}

export const onceIn = (fields: number): number => ((fields & 1) << 16) | (fields >>> 1)
