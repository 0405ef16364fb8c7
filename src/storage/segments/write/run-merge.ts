import { mergeSegments } from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { columnsOf, openSegment } from '../memory/segment.ts'
import type { MergeResult, MergeTask } from './writer-calls.ts'

/** Runs in the merge thread: merges the chunks that were not deleted when the task was given into a new segment. */
export function runMerge(
  { memories, sources, generation }: MergeTask,
  scratch: TermScratch,
): { result: MergeResult; transfer: ArrayBuffer[] } {
  try {
    const opened = sources.map((location) => openSegment(memories, location))
    const merged = mergeSegments(
      opened.map((segment) => ({
        data: segment.data,
        isLive: (chunk: number) => segment.deletedAt[chunk]! > generation,
        columns: columnsOf(segment),
      })),
      scratch,
    )
    const arrays = [merged.data, ...merged.moved, ...merged.columns.map((column) => column.raw)]
    return { result: { merged, reason: '' }, transfer: arrays.map((array) => array.buffer) }
  } catch (error) {
    return { result: { merged: null, reason: error instanceof Error ? error.message : String(error) }, transfer: [] }
  }
}
