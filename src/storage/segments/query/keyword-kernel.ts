import { fieldsAt, findTerm, frequencyAt, type SegmentImage, segmentChunksMax } from '../format/segment-image.ts'
import { bodyTokensAt, titleTokensAt } from '../format/segment-tokens.ts'
import { longStep, stepShift, termMask } from '../format/token-stream.ts'
import type { Segment } from '../memory/segment.ts'
import { type BegunChunks, begunFrequency, gatherBegun } from './begun-chunks.ts'
import { searchedLength, weighFrequency } from './chunk-scorer.ts'
import { bodyMask, type CompiledFilter, titleMask } from './compile-filter.ts'
import { GatheredScores } from './gathered-scores.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { KeywordPlan, PlannedAlternative } from './plan-keyword.ts'
import type { Sieve } from './sift-chunks.ts'
import type { TopDocuments } from './top-documents.ts'

/** One segment as one caller sees it. */
export interface VisitedSegment {
  readonly arena: number
  readonly image: SegmentImage
  readonly died: Int32Array<ArrayBufferLike>
  readonly generation: number
  readonly filter: CompiledFilter
}

/** One segment as one search walks it. */
export interface WalkedSegment extends VisitedSegment {
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
  /** The alternatives of one clause among several, of which the best counts. */
  readonly clause: GatheredScores
  readonly #frequencies = new Uint32Array(segmentChunksMax)

  constructor(sum = new GatheredScores(), clause = new GatheredScores()) {
    this.sum = sum
    this.clause = clause
  }

  /** Before a search; what stays the same over its segments. */
  begin(_filter: CompiledFilter, _titleWeight: number): void {}

  /** The chunks with the terms at these places of a segment's list. */
  gatherBegun(segment: Segment, places: Uint32Array<ArrayBufferLike>): BegunChunks {
    return gatherBegun(segment, places)
  }

  /**
   * Before a segment's clauses, until it is ranked: chunks that the sieve does not hold need not be scored, but are counted.
   * `visible` has a bit for each chunk that may be searched, all of them in both fields. Here everything is scored.
   */
  sift(_walked: WalkedSegment, _visible: Uint32Array, _sieve: Sieve): void {}

  /** Adds the scores of a term or a beginning to the sum. */
  add(walked: WalkedSegment, planned: PlannedAlternative): void {
    eachScore(walked, planned, (chunk, score) => this.sum.add(chunk, score))
  }

  /** Takes a term or a beginning for an alternative of what is gathered there. */
  raise(walked: WalkedSegment, planned: PlannedAlternative, gathered: GatheredScores): void {
    eachScore(walked, planned, (chunk, score) => gathered.raise(chunk, score))
  }

  /** Adds what was gathered for a clause to the sum, and empties it. */
  addClause({ image }: WalkedSegment): void {
    this.clause.take(image.chunks, (chunk, score) => this.sum.add(chunk, score))
  }

  /** Alternatives that are the whole of a query: gathered and ranked. Returns the number of matching chunks. */
  alone(walked: WalkedSegment, alternatives: readonly PlannedAlternative[], top: TopDocuments): number {
    for (const planned of alternatives) this.raise(walked, planned, this.sum)
    return this.rank(walked, top)
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

  /**
   * Writes the chunks of `count` postings that are visible and hold the term in a field that may be searched, with the
   * mask of those fields. Returns how many.
   */
  keepVisible(
    { image, died, generation, filter }: VisitedSegment,
    from: number,
    count: number,
    chunks: Uint16Array,
    masks: Uint8Array,
  ): number {
    let kept = 0
    for (let posting = from; posting < from + count; posting++) {
      const chunk = image.postingChunk[posting]!
      const mask = filter.maskOf(image, chunk)
      if ((mask & fieldsAt(image, posting)) === 0 || died[chunk]! <= generation) continue
      chunks[kept] = chunk
      masks[kept++] = mask
    }
    return kept
  }

  /**
   * Of the first `count` chunks, leaves those that have the term for a word as it is written, the first of its position, in
   * a field of their mask. Returns how many.
   */
  keepWritten(
    { image }: Pick<Segment, 'arena' | 'image'>,
    term: number,
    chunks: Uint16Array,
    masks: Uint8Array,
    count: number,
  ): number {
    let kept = 0
    for (let i = 0; i < count; i++) {
      const chunk = chunks[i]!
      const isWritten =
        ((masks[i]! & bodyMask) !== 0 && isFirst(bodyTokensAt(image, chunk), term)) ||
        ((masks[i]! & titleMask) !== 0 && isFirst(titleTokensAt(image, image.chunkVersion[chunk]!), term))
      if (isWritten) chunks[kept++] = chunk
    }
    return kept
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

function isFirst(tokens: Uint32Array<ArrayBufferLike>, term: number): boolean {
  for (let i = 0; i < tokens.length; i++) {
    const step = tokens[i]! >>> stepShift
    if (step !== 0 && (tokens[i]! & termMask) === term) return true
    if (step === longStep) i++
  }
  return false
}

/** The first posting of a term, and the end. */
export function postingRangeOf(image: SegmentImage, term: number): [from: number, end: number] {
  const found = findTerm(image, term)
  return found < 0 ? [0, 0] : [image.postingStart[found]!, image.postingStart[found + 1]!]
}

function eachScore(
  walked: WalkedSegment,
  planned: PlannedAlternative,
  see: (chunk: number, score: number) => void,
): void {
  const { image } = walked
  if ('lists' in planned) {
    const begun = planned.lists.get(image)!
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      const score = begunScore(walked, begun, chunk, planned.weight)
      if (score > 0) see(chunk, score)
    }
    return
  }
  const [from, end] = postingRangeOf(image, planned.term)
  for (let posting = from; posting < end; posting++) {
    const score = postingScore(walked, posting, planned.weight)
    if (score > 0) see(image.postingChunk[posting]!, score)
  }
}

/** 0 when the chunk is dead or not visible, or holds the term only where it may not be searched. */
export function postingScore(walked: WalkedSegment, posting: number, weight: number): number {
  const { image } = walked
  return scoreOf(walked, image.postingChunk[posting]!, frequencyAt(image, posting), weight)
}

/** However many of the terms a field holds, it counts once. */
export function begunScore(walked: WalkedSegment, begun: BegunChunks, chunk: number, weight: number): number {
  const frequency = begunFrequency(begun, chunk)
  return frequency === 0 ? 0 : scoreOf(walked, chunk, frequency, weight)
}

function scoreOf(
  { image, died, generation, filter, plan }: WalkedSegment,
  chunk: number,
  frequency: number,
  weight: number,
): number {
  const mask = filter.maskOf(image, chunk)
  if (mask === 0 || died[chunk]! <= generation) return 0
  const found = weighFrequency(frequency, mask, plan.titleWeight)
  return (weight * found) / (found + (plan.normBase + plan.normStep * searchedLength(image, chunk, mask)))
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
