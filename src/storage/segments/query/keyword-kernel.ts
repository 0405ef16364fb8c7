import { findTerm, frequencyAt, type SegmentImage, segmentChunksMax } from '../format/segment-image.ts'
import { searchedLength, weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import { GatheredScores } from './gathered-scores.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { KeywordPlan, PlannedTerm } from './plan-keyword.ts'
import type { TopDocuments } from './top-documents.ts'

/** One segment as one search walks it. */
export interface WalkedSegment {
  readonly arena: number
  readonly image: SegmentImage
  readonly died: Int32Array<ArrayBufferLike>
  readonly generation: number
  readonly filter: CompiledFilter
  readonly plan: KeywordPlan
}

/**
 * The inner loops of keyword search: every posting of a term, filter and deaths looked up on the way. A thread answers
 * one call at a time, so what a kernel gathers in is its own. `SimdKeywordKernel` is the fast one; this one says what
 * both do, and is used where WebAssembly is not.
 */
export class KeywordKernel {
  /** The sum over the clauses so far. */
  readonly sum: GatheredScores
  /** The alternatives of one clause, of which the best counts. */
  readonly clause: GatheredScores
  readonly #frequencies = new Uint32Array(segmentChunksMax)

  constructor(sum = new GatheredScores(), clause = new GatheredScores()) {
    this.sum = sum
    this.clause = clause
  }

  /** Before a search; what stays the same over its segments. */
  begin(_filter: CompiledFilter, _titleWeight: number): void {}

  /** Adds a term's scores to the sum. */
  add(walked: WalkedSegment, { term, weight }: PlannedTerm): void {
    const [from, end] = postingRangeOf(walked.image, term)
    for (let posting = from; posting < end; posting++) {
      const score = postingScore(walked, posting, weight)
      if (score > 0) this.sum.add(walked.image.postingChunk[posting]!, score)
    }
  }

  /** Takes a term into the clause. */
  raise(walked: WalkedSegment, { term, weight }: PlannedTerm): void {
    const [from, end] = postingRangeOf(walked.image, term)
    for (let posting = from; posting < end; posting++) {
      const score = postingScore(walked, posting, weight)
      if (score > 0) this.clause.raise(walked.image.postingChunk[posting]!, score)
    }
  }

  /** The only term of a query: straight to the ranking. Returns the number of matching chunks. */
  alone(walked: WalkedSegment, { term, weight }: PlannedTerm, top: TopDocuments): number {
    const documents = new DocumentOffers(walked.image, top)
    let matches = 0
    const [from, end] = postingRangeOf(walked.image, term)
    for (let posting = from; posting < end; posting++) {
      const score = postingScore(walked, posting, weight)
      if (score === 0) continue
      matches++
      documents.take(walked.image.postingChunk[posting]!, score)
    }
    documents.end()
    return matches
  }

  /** Ranks the sum and empties it. Returns the number of matching chunks. */
  rank({ image }: WalkedSegment, top: TopDocuments): number {
    const documents = new DocumentOffers(image, top)
    let matches = 0
    this.sum.take(image.chunks, (chunk, score) => {
      matches++
      documents.take(chunk, score)
    })
    documents.end()
    return matches
  }

  /** How often a phrase stands in each of the first `count` chunks of the list, title << 16 | body. */
  phrases(
    { image }: WalkedSegment,
    groups: readonly (readonly number[])[],
    list: Uint16Array,
    count: number,
  ): Uint32Array {
    const matcher = new PhraseMatcher(groups)
    for (let i = 0; i < count; i++) this.#frequencies[i] = matcher.frequency(image, list[i]!)
    return this.#frequencies
  }
}

/** The first posting of a term, and the end. */
export function postingRangeOf(image: SegmentImage, term: number): [from: number, end: number] {
  const found = findTerm(image, term)
  return found < 0 ? [0, 0] : [image.postingStart[found]!, image.postingStart[found + 1]!]
}

/** 0 when the chunk is dead or not visible, or holds the term only where it may not be searched. */
export function postingScore(walked: WalkedSegment, posting: number, weight: number): number {
  const { image, died, generation, filter, plan } = walked
  const chunk = image.postingChunk[posting]!
  const mask = filter.maskOf(image, chunk)
  if (mask === 0 || died[chunk]! <= generation) return 0
  const frequency = weighFrequency(frequencyAt(image, posting), mask, plan.titleWeight)
  return (weight * frequency) / (frequency + (plan.normBase + plan.normStep * searchedLength(image, chunk, mask)))
}

/** Chunks come ascending, so those of a document come together: it is offered once, with the best. */
export class DocumentOffers {
  readonly #image: SegmentImage
  readonly #top: TopDocuments
  #document = -1
  #chunk = 0
  #score = 0

  constructor(image: SegmentImage, top: TopDocuments) {
    this.#image = image
    this.#top = top
  }

  take(chunk: number, score: number): void {
    if (score < this.#top.threshold) return
    const document = this.#image.chunkDocument[chunk]!
    if (document !== this.#document) {
      this.end()
      this.#document = document
    } else if (score <= this.#score) return
    this.#chunk = chunk
    this.#score = score
  }

  end(): void {
    if (this.#document >= 0) this.#top.offer(this.#document, this.#chunk, this.#score)
    this.#document = -1
  }
}
