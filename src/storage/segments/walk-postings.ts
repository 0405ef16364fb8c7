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

/** `table[mask << 8 | code]` is the weighted frequency of a posting, or `exceptional`. */
export function frequencyTable(titleWeight: number): Float64Array {
  const table = new Float64Array(4 * 256)
  for (let mask = 0; mask < 4; mask++) {
    for (let code = 0; code < exceptionCode; code++) {
      table[(mask << 8) | code] = weighFrequency(((code >>> 6) << 16) | (code & 63), mask, titleWeight)
    }
    table[(mask << 8) | exceptionCode] = exceptional
  }
  return table
}

function exceptionalFrequency(image: SegmentImage, posting: number, mask: number, titleWeight: number): number {
  return weighFrequency(frequencyAt(image, posting), mask, titleWeight)
}

/** A query of one term: scores go straight to the ranking. Returns the number of matching chunks. */
export function walkOneTerm(
  { image, died, generation, filter }: WalkedSegment,
  { term, weight }: PlannedTerm,
  plan: KeywordPlan,
  frequencies: Float64Array,
  top: TopDocuments,
): number {
  const at = findTerm(image, term)
  if (at < 0) return 0
  const { postingChunk, postingFrequency, chunkClass, chunkLength, chunkDocument } = image
  const { normBase, normStep, titleWeight } = plan
  const { table } = filter
  const end = image.postingStart[at + 1]!
  let total = 0
  let document = -1
  let best = 0
  let bestChunk = 0
  for (let p = image.postingStart[at]!; p < end; p++) {
    const chunk = postingChunk[p]!
    let mask = table[chunkClass[chunk]!]!
    if (mask > 3) mask = filter.resolve(image, chunk)
    if (mask === 0 || died[chunk]! <= generation) continue
    let found = frequencies[(mask << 8) | postingFrequency[p]!]!
    if (found <= 0) {
      if (found === exceptional) found = exceptionalFrequency(image, p, mask, titleWeight)
      if (found === 0) continue
    }
    const score = (weight * found) / (found + (normBase + normStep * chunkLength[chunk]!))
    total++
    if (chunkDocument[chunk] === document) {
      if (score > best) {
        best = score
        bestChunk = chunk
      }
    } else {
      if (best >= top.threshold && document >= 0) top.offer(document, bestChunk, best)
      document = chunkDocument[chunk]!
      best = score
      bestChunk = chunk
    }
  }
  if (document >= 0 && best >= top.threshold) top.offer(document, bestChunk, best)
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
  frequencies: Float64Array,
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
    if (mask === 0 || died[chunk]! <= generation) continue
    let found = frequencies[(mask << 8) | postingFrequency[p]!]!
    if (found <= 0) {
      if (found === exceptional) found = exceptionalFrequency(image, p, mask, titleWeight)
      if (found === 0) continue
    }
    const score = (weight * found) / (found + (normBase + normStep * chunkLength[chunk]!))
    touched[chunk >>> 5]! |= 1 << (chunk & 31)
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
  frequencies: Float64Array,
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
    if (mask === 0 || died[chunk]! <= generation) continue
    let found = frequencies[(mask << 8) | postingFrequency[p]!]!
    if (found <= 0) {
      if (found === exceptional) found = exceptionalFrequency(image, p, mask, titleWeight)
      if (found === 0) continue
    }
    touched[chunk >>> 5]! |= 1 << (chunk & 31)
    scores[chunk]! += (weight * found) / (found + (normBase + normStep * chunkLength[chunk]!))
  }
}

/** Ranks what was gathered, and empties it. Returns the number of matching chunks. */
export function rankGathered(image: SegmentImage, { scores, touched }: Gathered, top: TopDocuments): number {
  const { chunkDocument } = image
  const words = (image.chunks + 31) >>> 5
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
      if (chunkDocument[chunk] === document) {
        if (score > best) {
          best = score
          bestChunk = chunk
        }
      } else {
        if (best >= top.threshold && document >= 0) top.offer(document, bestChunk, best)
        document = chunkDocument[chunk]!
        best = score
        bestChunk = chunk
      }
    }
  }
  if (document >= 0 && best >= top.threshold) top.offer(document, bestChunk, best)
  return total
}
