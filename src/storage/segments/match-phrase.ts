import type { SegmentImage } from './segment-image.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'

/**
 * Counts a phrase in the token numbers of one field: groups at consecutive positions, any alternative of each.
 *
 * For every group it keeps the last two positions where the phrase up to that group ended. Two, because another term at
 * the same position may come after the one that moved it on.
 */
export class PhraseMatcher {
  readonly #terms: Uint32Array
  readonly #groupOf: Uint32Array
  readonly #groups: number
  readonly #last: Float64Array
  readonly #before: Float64Array

  constructor(groups: readonly (readonly number[])[]) {
    // The later group first: a term that stands in two groups must look at the earlier one before that moves on.
    const pairs = groups.flatMap((group, i) => group.map((term) => [term, i] as const)).reverse()
    this.#terms = Uint32Array.from(pairs, ([term]) => term)
    this.#groupOf = Uint32Array.from(pairs, ([, group]) => group)
    this.#groups = groups.length
    this.#last = new Float64Array(groups.length)
    this.#before = new Float64Array(groups.length)
  }

  /** Frequencies in a chunk, title << 16 | body. */
  frequency(image: SegmentImage, chunk: number): number {
    const version = image.chunkVersion[chunk]!
    const inTitle = this.#count(image.titleTokens, image.titleStart[version]!, image.titleStart[version + 1]!)
    const inBody = this.#count(image.bodyTokens, image.bodyStart[chunk]!, image.bodyStart[chunk + 1]!)
    return (inTitle << 16) | inBody
  }

  #count(tokens: Uint32Array<ArrayBufferLike>, from: number, to: number): number {
    const terms = this.#terms
    const groupOf = this.#groupOf
    const last = this.#last.fill(-9)
    const before = this.#before.fill(-9)
    const end = this.#groups - 1
    let position = -1
    let count = 0
    for (let i = from; i < to; i++) {
      const word = tokens[i]!
      const step = word >>> stepShift
      position += step === longStep ? tokens[++i]! : step
      const term = word & termMask
      for (let t = 0; t < terms.length; t++) {
        if (terms[t] !== term) continue
        const group = groupOf[t]!
        if (last[group] === position) continue
        if (group > 0 && last[group - 1] !== position - 1 && before[group - 1] !== position - 1) continue
        before[group] = last[group]!
        last[group] = position
        if (group === end) count++
      }
    }
    return count
  }
}
