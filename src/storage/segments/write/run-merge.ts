import { mergeSegments } from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { columnsOf, openSegment } from '../memory/segment.ts'
import type { MergeDone, MergeOrder } from './writer-calls.ts'

/** What the merge thread does with an order: a new segment of what was alive when the order was given. */
export function runMerge(
  { memories, sources, generation }: MergeOrder,
  scratch: TermScratch,
): { done: MergeDone; transfer: ArrayBuffer[] } {
  try {
    const opened = sources.map((place) => openSegment(memories, place))
    const merged = mergeSegments(
      opened.map((segment) => ({
        image: segment.image,
        isAlive: (chunk: number) => segment.died[chunk]! > generation,
        columns: columnsOf(segment),
      })),
      scratch,
    )
    const arrays = [merged.image, ...merged.moved, ...merged.columns.map((column) => column.raw)]
    return { done: { merged, reason: '' }, transfer: arrays.map((array) => array.buffer) }
  } catch (error) {
    return { done: { merged: null, reason: error instanceof Error ? error.message : String(error) }, transfer: [] }
  }
}
