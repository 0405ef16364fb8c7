import { weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { KeywordPlan, PlannedTerm } from './plan-keyword.ts'
import { exceptionCode, findTerm, frequencyAt, type SegmentImage, segmentChunksMax } from './segment-image.ts'
import type { TopDocuments } from './top-documents.ts'

/**
 * The inner loops of keyword search: every posting of a term, filter and deaths looked up on the way. Written out for
 * the three cases that matter instead of shared through callbacks, which cost a third of the speed.
 */
export interface WalkedSegment {
  readonly image: SegmentImage
  readonly died: Int32Array<ArrayBufferLike>
  readonly generation: number
  readonly filter: CompiledFilter
}

const exceptional = -1

/**
 * What a posting counts for, by `mask << 8 | code`: its weighted frequency (or `exceptional`), and 1 if that is not 0.
 * A chunk outside the scope has mask 0 and so counts for nothing without a branch, which a filter of one half would
 * mispredict every other time.
 */
export class FrequencyTable {
  readonly weighted = new Float64Array(4 * 256)
  readonly found = new Uint8Array(4 * 256)

  constructor(titleWeight: number) {
    for (let mask = 1; mask < 4; mask++) {
      for (let code = 0; code < exceptionCode; code++) {
        const frequency = weighFrequency(((code >>> 6) << 16) | (code & 63), mask, titleWeight)
        this.weighted[(mask << 8) | code] = frequency
        this.found[(mask << 8) | code] = frequency > 0 ? 1 : 0
      }
      this.weighted[(mask << 8) | exceptionCode] = exceptional
    }
  }
}

function exceptionalFrequency(image: SegmentImage, posting: number, mask: number, titleWeight: number): number {
  return weighFrequency(frequencyAt(image, posting), mask, titleWeight)
}

/** A query of one term: scores go straight to the ranking. Returns the number of matching chunks. */
export function walkOneTerm(
  { image, died, generation, filter }: WalkedSegment,
  { term, weight }: PlannedTerm,
  plan: KeywordPlan,
  { weighted, found }: FrequencyTable,
  top: TopDocuments,
): number {
  const at = findTerm(image, term)
  if (at < 0) return 0
  const { postingChunk, postingFrequency, chunkClass, chunkLength, chunkDocument } = image
  const { normBase, normStep, titleWeight } = plan
  const { table } = filter
  const end = image.postingStart[at + 1]!
  let threshold = top.threshold
  let total = 0
  let document = -1
  let best = 0
  let bestChunk = 0
  for (let p = image.postingStart[at]!; p < end; p++) {
    const chunk = postingChunk[p]!
    let mask = table[chunkClass[chunk]!]!
    if (mask > 3) mask = filter.resolve(image, chunk)
    if (died[chunk]! <= generation) continue
    const key = (mask << 8) | postingFrequency[p]!
    let frequency = weighted[key]!
    total += found[key]!
    if (frequency === exceptional) {
      frequency = exceptionalFrequency(image, p, mask, titleWeight)
      if (frequency > 0) total++
    }
    const score = (weight * frequency) / (frequency + (normBase + normStep * chunkLength[chunk]!))
    if (score < threshold || score === 0) continue
    if (chunkDocument[chunk] === document) {
      if (score > best) {
        best = score
        bestChunk = chunk
      }
    } else {
      if (document >= 0) {
        top.offer(document, bestChunk, best)
        threshold = top.threshold
      }
      document = chunkDocument[chunk]!
      best = score
      bestChunk = chunk
    }
  }
  if (document >= 0) top.offer(document, bestChunk, best)
  return total
}

/** Scores by chunk, and which chunks have one: what a segment's search gathers before it ranks. All zero in between. */
export class Gathered {
  readonly scores = new Float64Array(segmentChunksMax)
  readonly touched = new Int32Array(segmentChunksMax / 32)

  add(chunk: number, score: number): void {
    this.touched[chunk >>> 5]! |= 1 << (chunk & 31)
    this.scores[chunk]! += score
  }
}

/** One of several alternatives: raises the chunk's score to that of this term, if it is higher. */
export function gatherTerm(
  { image, died, generation, filter }: WalkedSegment,
  { term, weight }: PlannedTerm,
  plan: KeywordPlan,
  { weighted, found }: FrequencyTable,
  { scores, touched }: Gathered,
): void {
  const at = findTerm(image, term)
  if (at < 0) return
  const { postingChunk, postingFrequency, chunkClass, chunkLength } = image
  const { normBase, normStep, titleWeight } = plan
  const { table } = filter
  const end = image.postingStart[at + 1]!
  for (let p = image.postingStart[at]!; p < end; p++) {
    const chunk = postingChunk[p]!
    let mask = table[chunkClass[chunk]!]!
    if (mask > 3) mask = filter.resolve(image, chunk)
    if (died[chunk]! <= generation) continue
    const key = (mask << 8) | postingFrequency[p]!
    let frequency = weighted[key]!
    let bit = found[key]!
    if (frequency === exceptional) {
      frequency = exceptionalFrequency(image, p, mask, titleWeight)
      bit = frequency > 0 ? 1 : 0
    }
    const score = (weight * frequency) / (frequency + (normBase + normStep * chunkLength[chunk]!))
    touched[chunk >>> 5]! |= bit << (chunk & 31)
    if (score > scores[chunk]!) scores[chunk] = score
  }
}

/** Adds what one clause gathered to the sum of all, and empties it. `known` only: to chunks that have a score already. */
export function addGathered(from: Gathered, into: Gathered, chunks: number, known: boolean): void {
  const words = (chunks + 31) >>> 5
  for (let i = 0; i < words; i++) {
    let bits = from.touched[i]!
    if (bits === 0) continue
    from.touched[i] = 0
    while (bits !== 0) {
      const chunk = (i << 5) | (31 - Math.clz32(bits & -bits))
      bits &= bits - 1
      if (!known || into.scores[chunk] !== 0) into.add(chunk, from.scores[chunk]!)
      from.scores[chunk] = 0
    }
  }
}

/** One term that is a clause of its own: its scores are added straight to the sum. */
export function addTerm(
  { image, died, generation, filter }: WalkedSegment,
  { term, weight }: PlannedTerm,
  plan: KeywordPlan,
  { weighted, found }: FrequencyTable,
  { scores, touched }: Gathered,
): void {
  const at = findTerm(image, term)
  if (at < 0) return
  const { postingChunk, postingFrequency, chunkClass, chunkLength } = image
  const { normBase, normStep, titleWeight } = plan
  const { table } = filter
  const end = image.postingStart[at + 1]!
  for (let p = image.postingStart[at]!; p < end; p++) {
    const chunk = postingChunk[p]!
    let mask = table[chunkClass[chunk]!]!
    if (mask > 3) mask = filter.resolve(image, chunk)
    if (died[chunk]! <= generation) continue
    const key = (mask << 8) | postingFrequency[p]!
    let frequency = weighted[key]!
    let bit = found[key]!
    if (frequency === exceptional) {
      frequency = exceptionalFrequency(image, p, mask, titleWeight)
      bit = frequency > 0 ? 1 : 0
    }
    touched[chunk >>> 5]! |= bit << (chunk & 31)
    scores[chunk]! += (weight * frequency) / (frequency + (normBase + normStep * chunkLength[chunk]!))
  }
}

/** Ranks what was gathered, and empties it. Returns the number of matching chunks. */
export function rankGathered(image: SegmentImage, { scores, touched }: Gathered, top: TopDocuments): number {
  const { chunkDocument } = image
  const words = (image.chunks + 31) >>> 5
  let threshold = top.threshold
  let total = 0
  let document = -1
  let best = 0
  let bestChunk = 0
  for (let i = 0; i < words; i++) {
    let bits = touched[i]!
    if (bits === 0) continue
    touched[i] = 0
    while (bits !== 0) {
      const chunk = (i << 5) | (31 - Math.clz32(bits & -bits))
      bits &= bits - 1
      const score = scores[chunk]!
      scores[chunk] = 0
      if (score === 0) continue
      total++
      if (score < threshold) continue
      if (chunkDocument[chunk] === document) {
        if (score > best) {
          best = score
          bestChunk = chunk
        }
      } else {
        if (document >= 0) {
          top.offer(document, bestChunk, best)
          threshold = top.threshold
        }
        document = chunkDocument[chunk]!
        best = score
        bestChunk = chunk
      }
    }
  }
  if (document >= 0) top.offer(document, bestChunk, best)
  return total
}
