import type { SegmentData } from '../format/segment-data.ts'
import { bodyTokensAt, titleTokensAt } from '../format/segment-tokens.ts'
import { longStep, stepShift, termMask } from '../format/token-stream.ts'

/**
 * Counts a phrase in the token numbers of one field: groups at consecutive positions, any alternative of each.
 *
 * The loop over all words only looks for the first group, and the rest is checked where that occurs.
 */
export class PhraseMatcher {
  readonly #first: readonly number[]
  readonly #groups: readonly (readonly number[])[]
  /** The groups that were seen since the position that is being checked. */
  readonly #seen: Uint8Array

  constructor(groups: readonly (readonly number[])[]) {
    this.#groups = groups
    this.#first = groups[0]!
    this.#seen = new Uint8Array(groups.length)
  }

  /** The frequencies in a chunk, title << 16 | body. */
  frequency(data: SegmentData, chunk: number): number {
    const version = data.chunkVersion[chunk]!
    return (this.#count(titleTokensAt(data, version)) << 16) | this.#count(bodyTokensAt(data, chunk))
  }

  #count(tokens: Uint32Array<ArrayBufferLike>): number {
    if (this.#first.length > 1) return this.#countAny(tokens)
    const term = this.#first[0]!
    let count = 0
    let counted = -1
    for (let i = 0; i < tokens.length; i++) {
      if ((tokens[i]! & termMask) !== term || isStep(tokens, i)) continue
      if (counted >= 0 && samePosition(tokens, counted, i)) continue
      if (this.#phraseAt(tokens, i)) {
        count++
        counted = i
      }
    }
    return count
  }

  #countAny(tokens: Uint32Array<ArrayBufferLike>): number {
    let count = 0
    let counted = -1
    for (let i = 0; i < tokens.length; i++) {
      const word = tokens[i]!
      if (this.#first.includes(word & termMask) && (counted < 0 || !samePosition(tokens, counted, i))) {
        if (this.#phraseAt(tokens, i)) {
          count++
          counted = i
        }
      }
      if (word >>> stepShift === longStep) i++
    }
    return count
  }

  /** Whether the groups after the first follow the word at `at`. */
  #phraseAt(tokens: Uint32Array<ArrayBufferLike>, at: number): boolean {
    const groups = this.#groups
    const seen = this.#seen.fill(0)
    let missing = groups.length - 1
    let distance = 0
    for (let i = tokens[at]! >>> stepShift === longStep ? at + 2 : at + 1; i < tokens.length && missing > 0; i++) {
      const word = tokens[i]!
      const step = word >>> stepShift
      distance += step === longStep ? tokens[++i]! : step
      if (distance >= groups.length) return false
      if (distance > 0 && seen[distance] === 0 && groups[distance]!.includes(word & termMask)) {
        seen[distance] = 1
        missing--
      }
    }
    return missing === 0
  }
}

/** Whether the word at `at` is not a term but the length of a long step. */
function isStep(tokens: Uint32Array<ArrayBufferLike>, at: number): boolean {
  return at > 0 && tokens[at - 1]! >>> stepShift === longStep
}

function samePosition(tokens: Uint32Array<ArrayBufferLike>, before: number, after: number): boolean {
  for (let i = before + 1; i <= after; i++) if (tokens[i]! >>> stepShift !== 0) return false
  return true
}
