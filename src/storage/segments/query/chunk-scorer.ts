import { findTerm, frequencyAt, type SegmentImage } from '../format/segment-image.ts'
import { type BegunChunks, begunFrequency } from './begun-chunks.ts'
import { bodyMask, bothMask, titleMask } from './compile-filter.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { KeywordPlan, PlannedClause } from './plan-keyword.ts'

/** A title-and-body frequency (title << 16 | body) as one number, as far as the mask lets it be seen. */
export function weighFrequency(frequency: number, mask: number, titleWeight: number): number {
  const inTitle = mask & titleMask ? (frequency >>> 16) * titleWeight : 0
  return mask & bodyMask ? inTitle + (frequency & 0xffff) : inTitle
}

/** Positions of the fields that the mask lets be searched. */
export function searchedLength(image: SegmentImage, chunk: number, mask: number): number {
  const length = image.chunkLength[chunk]!
  if (mask === bothMask) return length
  const inTitle = image.titleLength[image.chunkVersion[chunk]!]!
  return mask === titleMask ? inTitle : length - inTitle
}

/** A posting list that is asked for ascending chunk numbers. */
export class PostingCursor {
  readonly weight: number
  readonly #image: SegmentImage
  readonly #start: number
  readonly #end: number
  #at: number
  #asked = -1

  constructor(image: SegmentImage, term: number, weight: number) {
    const found = findTerm(image, term)
    this.#image = image
    this.weight = weight
    this.#start = found < 0 ? 0 : image.postingStart[found]!
    this.#end = found < 0 ? 0 : image.postingStart[found + 1]!
    this.#at = this.#start
  }

  /** Title << 16 | body, 0 when the chunk does not hold the term. Asking for a lower number starts over. */
  frequency(chunk: number): number {
    const chunks = this.#image.postingChunk
    if (chunk < this.#asked) this.#at = this.#start
    this.#asked = chunk
    let low = this.#at
    let stride = 1
    while (low + stride < this.#end && chunks[low + stride]! < chunk) {
      low += stride
      stride *= 2
    }
    let high = Math.min(low + stride, this.#end)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (chunks[middle]! < chunk) low = middle + 1
      else high = middle
    }
    this.#at = low
    return low < this.#end && chunks[low] === chunk ? frequencyAt(this.#image, low) : 0
  }
}

interface ClauseScorer {
  readonly number: number
  readonly cursors: readonly (readonly PostingCursor[])[]
  readonly beginnings: readonly { readonly begun: BegunChunks; readonly weight: number }[]
  readonly phrase: PhraseMatcher | null
  readonly weight: number
}

/**
 * Scores single chunks of one segment, one after the other: for queries with required clauses, where few chunks are
 * left, and for documents that are already chosen. Adds in the order in which the kernels do, so that both give the same bits.
 */
export class ChunkScorer {
  readonly #image: SegmentImage
  readonly #plan: KeywordPlan
  readonly #must: readonly ClauseScorer[]
  readonly #any: readonly ClauseScorer[]
  readonly #mustNot: readonly ClauseScorer[]
  readonly #boosts: readonly ClauseScorer[]

  constructor(image: SegmentImage, plan: KeywordPlan) {
    const open = (clause: PlannedClause): ClauseScorer =>
      clause.type === 'word'
        ? {
            number: clause.number,
            cursors: [clause.terms.map(({ term, weight }) => new PostingCursor(image, term, weight))],
            beginnings: clause.beginnings.map(({ lists, weight }) => ({ begun: lists.get(image)!, weight })),
            phrase: null,
            weight: 0,
          }
        : {
            number: clause.number,
            cursors: clause.groups.map((group) => group.map((term) => new PostingCursor(image, term, 0))),
            beginnings: [],
            phrase: new PhraseMatcher(clause.groups),
            weight: clause.weight,
          }
    this.#image = image
    this.#plan = plan
    this.#must = plan.must.map(open)
    this.#any = plan.any.map(open)
    this.#mustNot = plan.mustNot.map(open)
    this.#boosts = plan.boosts.map(open)
  }

  /** 0 when the chunk does not match in the fields of the mask. */
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

  /** What each clause adds to the score of a chunk that matches, by its number. */
  parts(chunk: number, mask: number): number[] {
    const parts = new Array<number>(this.#plan.clauses).fill(0)
    for (const clause of [...this.#must, ...this.#any, ...this.#boosts]) {
      parts[clause.number] = this.#add(0, clause, chunk, mask)
    }
    return parts
  }

  #add(before: number, clause: ClauseScorer, chunk: number, mask: number): number {
    const { titleWeight, normBase, normStep } = this.#plan
    const norm = normBase + normStep * searchedLength(this.#image, chunk, mask)
    if (clause.phrase !== null) {
      for (const group of clause.cursors) if (!group.some((cursor) => cursor.frequency(chunk) !== 0)) return before
      const found = weighFrequency(clause.phrase.frequency(this.#image, chunk), mask, titleWeight)
      return before + (clause.weight * found) / (found + norm)
    }
    let best = 0
    for (const cursor of clause.cursors[0]!) {
      const found = weighFrequency(cursor.frequency(chunk), mask, titleWeight)
      best = Math.max(best, (cursor.weight * found) / (found + norm))
    }
    for (const { begun, weight } of clause.beginnings) {
      const found = weighFrequency(begunFrequency(begun, chunk), mask, titleWeight)
      best = Math.max(best, (weight * found) / (found + norm))
    }
    return before + best
  }
}
