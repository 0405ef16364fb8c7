import { bm25 } from '../../../text/bm25.ts'
import { fieldsAt, frequencyAt, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import { searchedLength, weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { KeywordPlan, PlannedAlternative } from './plan-keyword.ts'
import { type PrefixChunks, prefixFrequency } from './prefix-chunks.ts'

/** One segment with the filter of one caller. */
export interface VisitedSegment {
  readonly arena: number
  readonly data: SegmentData
  readonly deletedAt: Int32Array<ArrayBufferLike>
  readonly generation: number
  readonly filter: CompiledFilter
}

/** One segment with the plan of one search. */
export interface WalkedSegment extends VisitedSegment {
  readonly plan: KeywordPlan
}

/** Visits every chunk with a term or a prefix, in a segment that the kernel cannot read. */
export function eachScore(
  walked: WalkedSegment,
  planned: PlannedAlternative,
  visit: (chunk: number, score: number) => void,
): void {
  const { data } = walked
  if ('lists' in planned) {
    const prefixed = planned.lists.get(data)!
    for (let chunk = 0; chunk < data.chunks; chunk++) {
      const score = prefixScore(walked, prefixed, chunk, planned.weight)
      if (score > 0) visit(chunk, score)
    }
    return
  }
  const [from, end] = postingRangeOf(data, planned.term)
  for (let posting = from; posting < end; posting++) {
    const score = postingScore(walked, posting, planned.weight)
    if (score > 0) visit(data.postingChunk[posting]!, score)
  }
}

/** Returns 0 if the chunk is deleted or not visible, or contains the term only where it may not be searched. */
export function postingScore(walked: WalkedSegment, posting: number, weight: number): number {
  const { data } = walked
  return scoreOf(walked, data.postingChunk[posting]!, frequencyAt(data, posting), weight)
}

/** A field counts once, regardless of how many of the terms it contains. */
export function prefixScore(walked: WalkedSegment, prefixed: PrefixChunks, chunk: number, weight: number): number {
  const frequency = prefixFrequency(prefixed, chunk)
  return frequency === 0 ? 0 : scoreOf(walked, chunk, frequency, weight)
}

function scoreOf(
  { data, deletedAt, generation, filter, plan }: WalkedSegment,
  chunk: number,
  frequency: number,
  weight: number,
): number {
  const mask = filter.maskOf(data, chunk)
  if (mask === 0 || deletedAt[chunk]! <= generation) return 0
  const found = weighFrequency(frequency, mask, plan.titleWeight)
  return bm25(weight, found, searchedLength(data, chunk, mask), plan)
}

/** Does the same as the kernel's `keepVisible`. */
export function visiblePostings(
  { data, deletedAt, generation, filter }: VisitedSegment,
  from: number,
  count: number,
  chunks: Uint16Array,
  masks: Uint8Array,
): number {
  let kept = 0
  for (let posting = from; posting < from + count; posting++) {
    const chunk = data.postingChunk[posting]!
    const mask = filter.maskOf(data, chunk)
    if ((mask & fieldsAt(data, posting)) === 0 || deletedAt[chunk]! <= generation) continue
    chunks[kept] = chunk
    masks[kept++] = mask
  }
  return kept
}
