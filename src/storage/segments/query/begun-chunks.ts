import { exceptionCode, fieldsAt, findTerm, type SegmentImage, segmentChunksMax } from '../format/segment-image.ts'
import type { Segment } from '../memory/segment.ts'

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
const fourFieldsOf = new Uint32Array(fieldsOf.buffer)
const list = new Uint16Array(segmentChunksMax)

/** By the code of a posting's frequencies, where they fit into one. */
const fieldsOfCode = Uint8Array.from({ length: 256 }, (_, code) => (code >>> 6 > 0 ? 1 : 0) | ((code & 63) > 0 ? 2 : 0))

/** `terms` ascend. `null` when time runs out. */
export function begunLists(
  segments: readonly Segment[],
  terms: readonly number[],
  deadline: number,
): BegunLists | null {
  const lists = new Map<SegmentImage, BegunChunks>()
  const isOne = new Uint32Array(((terms.at(-1) ?? 0) >>> 5) + 1)
  for (const term of terms) isOne[term >>> 5]! |= 1 << (term & 31)
  for (const { image } of segments) {
    if (performance.now() > deadline) return null
    lists.set(image, begunChunks(image, terms, isOne))
  }
  return lists
}

/** `isOne` has a bit for each term. */
function begunChunks(image: SegmentImage, terms: readonly number[], isOne: Uint32Array): BegunChunks {
  if (terms.length * lookUpRatio < image.terms) {
    for (const term of terms) addPostings(image, findTerm(image, term))
  } else {
    const { term: held } = image
    for (let at = 0; at < held.length && held[at]! >>> 5 < isOne.length; at++) {
      if (((isOne[held[at]! >>> 5]! >>> (held[at]! & 31)) & 1) === 1) addPostings(image, at)
    }
  }
  const count = listBegun(image.chunks)
  const chunks = list.slice(0, count)
  const fields = new Uint8Array(count)
  for (let i = 0; i < count; i++) fields[i] = fieldsOf[chunks[i]!]!
  fieldsOf.fill(0, 0, image.chunks)
  return { chunks, fields }
}

/** Into `list`, without a branch that cannot be foreseen. Returns how many. */
function listBegun(chunks: number): number {
  let count = 0
  for (let first = 0; first < chunks; first += 4) {
    if (fourFieldsOf[first >>> 2] === 0) continue
    for (let chunk = first; chunk < first + 4; chunk++) {
      list[count] = chunk
      count += (fieldsOf[chunk]! + 3) >>> 2
    }
  }
  return count
}

function addPostings(image: SegmentImage, at: number): void {
  if (at < 0) return
  const { postingChunk, postingFrequency, postingStart } = image
  const end = postingStart[at + 1]!
  for (let posting = postingStart[at]!; posting < end; posting++) {
    const code = postingFrequency[posting]!
    fieldsOf[postingChunk[posting]!]! |= code === exceptionCode ? fieldsAt(image, posting) : fieldsOfCode[code]!
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
