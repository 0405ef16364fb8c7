import { bm25 } from '../../../text/bm25.ts'
import { frequencyAt, lowerBound, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import { bodyMask, bothMask, titleMask } from './compile-filter.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { KeywordPlan, PlannedClause } from './plan-keyword.ts'
import { type PrefixChunks, prefixFrequency } from './prefix-chunks.ts'

/** Combines a title and a body frequency (title << 16 | body) into one number, for the fields in the mask. */
export function weighFrequency(frequency: number, mask: number, titleWeight: number): number {
  const inTitle = mask & titleMask ? (frequency >>> 16) * titleWeight : 0
  return mask & bodyMask ? inTitle + (frequency & 0xffff) : inTitle
}

/** The number of positions in the fields that the mask opens. */
export function searchedLength(data: SegmentData, chunk: number, mask: number): number {
  const length = data.chunkLength[chunk]!
  if (mask === bothMask) return length
  const inTitle = data.titleLength[data.chunkVersion[chunk]!]!
  return mask === titleMask ? inTitle : length - inTitle
}

/** A cursor in a posting list, for lookups in ascending order of chunk numbers. */
export class PostingCursor {
  readonly weight: number
  readonly #data: SegmentData
  readonly #start: number
  readonly #end: number
  #at: number
  #last = -1

  constructor(data: SegmentData, term: number, weight: number) {
    const [start, end] = postingRangeOf(data, term)
    this.#data = data
    this.weight = weight
    this.#start = start
    this.#end = end
    this.#at = start
  }

  /**
   * Returns title << 16 | body, 0 if the chunk does not contain the term. Uses galloping search from the last chunk; a
   * lower chunk number starts again from the first posting.
   */
  frequency(chunk: number): number {
    const chunks = this.#data.postingChunk
    if (chunk < this.#last) this.#at = this.#start
    this.#last = chunk
    let low = this.#at
    let stride = 1
    while (low + stride < this.#end && chunks[low + stride]! < chunk) {
      low += stride
      stride *= 2
    }
    const at = lowerBound(chunks, chunk, low, Math.min(low + stride, this.#end))
    this.#at = at
    return at < this.#end && chunks[at] === chunk ? frequencyAt(this.#data, at) : 0
  }
}

interface ClauseScorer {
  readonly number: number
  readonly cursors: readonly (readonly PostingCursor[])[]
  readonly prefixes: readonly { readonly prefixed: PrefixChunks; readonly weight: number }[]
  readonly phrase: PhraseMatcher | null
  readonly weight: number
}

/**
 * Scores single chunks of one segment: for queries with required clauses, which leave few chunks, and for given
 * documents. It adds in the same order as the kernel, so that both results are equal bit by bit.
 */
export class ChunkScorer {
  readonly #data: SegmentData
  readonly #plan: KeywordPlan
  readonly #must: readonly ClauseScorer[]
  readonly #any: readonly ClauseScorer[]
  readonly #mustNot: readonly ClauseScorer[]
  readonly #boosts: readonly ClauseScorer[]

  constructor(data: SegmentData, plan: KeywordPlan) {
    const open = (clause: PlannedClause): ClauseScorer =>
      clause.type === 'word'
        ? {
            number: clause.number,
            cursors: [clause.terms.map(({ term, weight }) => new PostingCursor(data, term, weight))],
            prefixes: clause.prefixes.map(({ lists, weight }) => ({ prefixed: lists.get(data)!, weight })),
            phrase: null,
            weight: 0,
          }
        : {
            number: clause.number,
            cursors: clause.groups.map((group) => group.map((term) => new PostingCursor(data, term, 0))),
            prefixes: [],
            phrase: new PhraseMatcher(clause.groups),
            weight: clause.weight,
          }
    this.#data = data
    this.#plan = plan
    this.#must = plan.must.map(open)
    this.#any = plan.any.map(open)
    this.#mustNot = plan.mustNot.map(open)
    this.#boosts = plan.boosts.map(open)
  }

  /** Returns 0 if the chunk does not match in the fields of the mask. */
  score(chunk: number, mask: number): number {
    let sum = 0
    for (const clause of this.#must) {
      const more = this.#add(sum, clause, chunk, mask)
      if (more === sum) return 0
      sum = more
    }
    for (const clause of this.#any) sum = this.#add(sum, clause, chunk, mask)
    if (sum === 0) return 0
    for (const clause of this.#mustNot) if (this.#add(0, clause, chunk, mask) !== 0) return 0
    for (const clause of this.#boosts) sum = this.#add(sum, clause, chunk, mask)
    return sum
  }

  /** The part that each clause adds to the score of a matching chunk, by the number of the clause. */
  parts(chunk: number, mask: number): number[] {
    const parts = new Array<number>(this.#plan.clauses).fill(0)
    for (const clause of [...this.#must, ...this.#any, ...this.#boosts]) {
      parts[clause.number] = this.#add(0, clause, chunk, mask)
    }
    return parts
  }

  #add(before: number, clause: ClauseScorer, chunk: number, mask: number): number {
    const { titleWeight } = this.#plan
    const length = searchedLength(this.#data, chunk, mask)
    if (clause.phrase !== null) {
      for (const group of clause.cursors) if (!group.some((cursor) => cursor.frequency(chunk) !== 0)) return before
      const found = weighFrequency(clause.phrase.frequency(this.#data, chunk), mask, titleWeight)
      return before + bm25(clause.weight, found, length, this.#plan)
    }
    let best = 0
    for (const cursor of clause.cursors[0]!) {
      const found = weighFrequency(cursor.frequency(chunk), mask, titleWeight)
      best = Math.max(best, bm25(cursor.weight, found, length, this.#plan))
    }
    for (const { prefixed, weight } of clause.prefixes) {
      const found = weighFrequency(prefixFrequency(prefixed, chunk), mask, titleWeight)
      best = Math.max(best, bm25(weight, found, length, this.#plan))
    }
    return before + best
  }
}
