import type { SegmentData } from './segment-data.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'

/**
 * Finds the chunks that may contain two terms in a row. Two common words may occur in a quarter of all chunks, but in a
 * row only in one of a hundred, and reading the words of a chunk is a cache miss. The filter lets about one chunk in
 * sixteen pass.
 *
 * It is a Bloom filter for every chunk, stored transposed: a slice has one bit of every chunk, a pair of terms hashes
 * to `slicesOfPair` slices, and a chunk with the pair has its bit in all of them. So a pair reads a few slices of 8 KB,
 * for any number of chunks. The number of slices gives each pair of a segment `bitsOfPair` bits: a small segment has
 * few slices and a weak filter, which is all it needs.
 */
const bitsOfPair = 6
const slicesOfPair = 3
/** 16 bits of a hash choose a slice. */
const slicesMax = 65_536
/** The number of pairs of alternatives. With more pairs nearly every chunk would pass. */
const pairsMax = 16

const wordsOfSlice = (chunks: number): number => (chunks + 31) >>> 5

function mixed(first: number, second: number): number {
  let hash = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d)
  return Math.imul(hash ^ (hash >>> 13), 0x297a_2d39)
}

/** The slice that 16 bits of a hash choose. */
const sliceOf = (hash: number, slices: number): number => ((hash & 0xffff) * slices) >>> 16

/** Fills the slices of a segment, chunk by chunk. */
export class PairFilterBuilder {
  readonly slices: Uint32Array
  readonly #words: number
  readonly #count: number

  constructor(chunks: number, terms: number) {
    this.#words = wordsOfSlice(chunks)
    const count = Math.round((terms * bitsOfPair) / 32 / Math.max(1, this.#words))
    this.#count = Math.min(Math.max(1, count), slicesMax)
    this.slices = new Uint32Array(this.#count * this.#words)
  }

  /** Adds the pairs of one field of a chunk: terms at adjacent positions. */
  add(chunk: number, tokens: Uint32Array<ArrayBufferLike>, from: number, to: number): void {
    // Terms of one position are contiguous: those of the previous position lie from `before` to `beforeEnd`.
    let before = from
    let beforeEnd = from
    let here = from
    for (let i = from; i < to; i++) {
      const word = tokens[i]!
      const step = word >>> stepShift
      if (step !== 0) {
        before = here
        beforeEnd = step === 1 ? i : before
        here = i
      }
      for (let j = before; j < beforeEnd; j++) {
        const other = tokens[j]!
        this.#mark(chunk, mixed(other & termMask, word & termMask))
        if (other >>> stepShift === longStep) j++
      }
      if (step === longStep) i++
    }
  }

  #mark(chunk: number, hash: number): void {
    const { slices } = this
    const word = chunk >>> 5
    const bit = 1 << (chunk & 31)
    slices[sliceOf(hash, this.#count) * this.#words + word]! |= bit
    slices[sliceOf(hash >>> 16, this.#count) * this.#words + word]! |= bit
    slices[sliceOf(hash >>> 8, this.#count) * this.#words + word]! |= bit
  }
}

/** Keeps those of the first `count` chunks in the list that may contain the phrase. Returns the number kept. */
export function filterPhrase(
  data: SegmentData,
  groups: readonly (readonly number[])[],
  list: Uint16Array,
  count: number,
): number {
  let left = count
  for (let i = 1; i < groups.length && left > 0; i++) {
    if (groups[i - 1]!.length * groups[i]!.length > pairsMax) continue
    const hashes = groups[i - 1]!.flatMap((first) => groups[i]!.map((second) => mixed(first, second)))
    left = filterPairs(data, hashes, list, left)
  }
  return left
}

/**
 * The starts of the slices of all requested pairs. Reused, because allocating it for each segment takes longer than
 * most uses.
 */
const starts = new Uint32Array(pairsMax * slicesOfPair)

/** Keeps the chunks that may contain one of the pairs. */
function filterPairs(data: SegmentData, hashes: readonly number[], list: Uint16Array, count: number): number {
  const { pairSlices } = data
  const words = wordsOfSlice(data.chunks)
  const slices = pairSlices.length / words
  let end = 0
  for (const hash of hashes) {
    starts[end++] = sliceOf(hash, slices) * words
    starts[end++] = sliceOf(hash >>> 16, slices) * words
    starts[end++] = sliceOf(hash >>> 8, slices) * words
  }
  let kept = 0
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    const word = chunk >>> 5
    let bits = 0
    for (let at = 0; at < end; at += slicesOfPair) {
      bits |=
        pairSlices[starts[at]! + word]! & pairSlices[starts[at + 1]! + word]! & pairSlices[starts[at + 2]! + word]!
    }
    list[kept] = chunk
    kept += (bits >>> (chunk & 31)) & 1
  }
  return kept
}
