import { mergeSegments } from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { columnsOf, openSegment } from '../memory/segment.ts'
import type { MergeDone, MergeOrder } from './writer-calls.ts'

/** Runs in the merge thread: makes a new segment of the chunks that were not deleted when the order was given. */
export function runMerge(
  { memories, sources, generation }: MergeOrder,
  scratch: TermScratch,
): { done: MergeDone; transfer: ArrayBuffer[] } {
  try {
    const opened = sources.map((place) => openSegment(memories, place))
    const merged = mergeSegments(
      opened.map((segment) => ({
        image: segment.image,
        isAlive: (chunk: number) => segment.deletedAt[chunk]! > generation,
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
