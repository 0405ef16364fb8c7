import type { SegmentImage } from './segment-image.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'

/**
 * Which chunks may hold two terms side by side. Two common words stand in a quarter of all chunks, side by side in one of
 * a hundred, and to read a chunk's words is a walk to far memory: the sieve lets about one of sixteen through.
 *
 * It is a Bloom filter for every chunk, turned on its side: a slice holds one bit of every chunk, a pair of terms names
 * `slicesOfPair` slices, and a chunk that holds the pair has its bit in all of them. So one pair needs a few slices of
 * 8 KB, whatever the chunks. As many bits as `bitsOfPair` for each pair: a small segment has few slices and a weak sieve,
 * which is all it needs.
 */
const bitsOfPair = 6
const slicesOfPair = 3
/** Places of slices are made of 16 bits of a hash. */
const slicesMax = 65_536
/** Alternatives times alternatives; beyond it nearly everything would pass. */
const pairsMax = 16

const wordsOfSlice = (chunks: number): number => (chunks + 31) >>> 5

function mixed(first: number, second: number): number {
  let hash = Math.imul(first, 0x9e37_79b1) ^ Math.imul(second, 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d)
  return Math.imul(hash ^ (hash >>> 13), 0x297a_2d39)
}

/** The slice that 16 bits of a hash name. */
const sliceOf = (hash: number, slices: number): number => ((hash & 0xffff) * slices) >>> 16

/** Fills the slices of a segment, chunk by chunk. */
export class PairSieveBuilder {
  readonly slices: Uint32Array
  readonly #words: number
  readonly #count: number

  constructor(chunks: number, terms: number) {
    this.#words = wordsOfSlice(chunks)
    const count = Math.round((terms * bitsOfPair) / 32 / Math.max(1, this.#words))
    this.#count = Math.min(Math.max(1, count), slicesMax)
    this.slices = new Uint32Array(this.#count * this.#words)
  }

  /** The pairs of one field of a chunk: terms at neighbouring positions. */
  add(chunk: number, tokens: Uint32Array<ArrayBufferLike>, from: number, to: number): void {
    // Terms of one position stand together: those of the position before lie from `before` to `beforeEnd`.
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

/** Of the first `count` chunks in the list, leaves those that may hold the phrase. Returns how many. */
export function siftPhrase(
  image: SegmentImage,
  groups: readonly (readonly number[])[],
  list: Uint16Array,
  count: number,
): number {
  let left = count
  for (let i = 1; i < groups.length && left > 0; i++) {
    if (groups[i - 1]!.length * groups[i]!.length > pairsMax) continue
    const hashes = groups[i - 1]!.flatMap((first) => groups[i]!.map((second) => mixed(first, second)))
    left = siftPairs(image, hashes, list, left)
  }
  return left
}

/** Where the slices of the pairs begin that are looked for; made anew for every segment it took longer than many a sift. */
const starts = new Uint32Array(pairsMax * slicesOfPair)

/** Leaves the chunks that may hold one of the pairs. */
function siftPairs(image: SegmentImage, hashes: readonly number[], list: Uint16Array, count: number): number {
  const { pairSlices } = image
  const words = wordsOfSlice(image.chunks)
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
