import type { MessagePort } from 'node:worker_threads'
import type { IndexBatch } from '../../../indexing/fed-index.ts'
import type { MergedSegment } from '../format/merge-segments.ts'
import type { SegmentLocation } from '../memory/segment.ts'
import type { SharedBuffers, SuspectVectors } from '../memory/thread-messages.ts'
import type { LoadTask } from './parallel-loader.ts'

export interface WriterOptions {
  readonly path: string
  readonly analysis: string
  readonly shared: SharedBuffers
  /** Must call `IndexWriter.merged` when it is done, whether it succeeded or failed. */
  readonly startMerge: (task: MergeTask) => void
  /** Starts a thread that helps to load the index. It may fail or be late, because the writer does the rest itself. */
  readonly startHelper: (task: LoadTask) => void
  readonly helpers: number
  /** From this many bytes of sealed segments in the file, helpers take part in loading. */
  readonly helpFromBytes: number
  readonly sealChunks: number
  readonly segmentChunks: number
  readonly mergeMemoryBytes: number
  readonly mergeFanIn: number
  /** The size of each shared memory that is allocated. */
  readonly arenaBytes?: number
  /** How long a write waits for others that have locked the file. */
  readonly lockWaitMs?: number
}

export interface WriterThreadOptions extends Omit<WriterOptions, 'startMerge' | 'startHelper'> {
  /** Another file that no other process may have open. */
  readonly lockedToo: string | null
}

export type WriterCall =
  | { readonly call: 'apply'; readonly batch: IndexBatch }
  /** Adds a reader, which receives every change of the segment list through `port`. Answered when the whole list is sent. */
  | { readonly call: 'addReader'; readonly reader: number; readonly port: MessagePort }
  /** Vectors that a reader could not read. The answer describes the damage of the file, or is empty if there is none. */
  | { readonly call: 'checkVectors'; readonly vectors: SuspectVectors }
  | { readonly call: 'health' | 'checkpoint' | 'clear' | 'purge' }

/** The task that a merge thread is started with. */
export interface MergeTask {
  readonly memories: readonly WebAssembly.Memory[]
  readonly sources: readonly SegmentLocation[]
  readonly generation: number
}

export interface MergeResult {
  readonly merged: MergedSegment | null
  /** Why it failed; empty after a success. */
  readonly reason: string
}
