import type { MessagePort } from 'node:worker_threads'
import type { IndexBatch } from '../../../indexing/fed-index.ts'
import type { MergedSegment } from '../format/merge-segments.ts'
import type { SegmentPlace } from '../memory/segment.ts'
import type { DoubtfulVectors, SharedBuffers } from '../memory/thread-messages.ts'
import type { LoadOrder } from './load-together.ts'

export interface WriterOptions {
  readonly path: string
  readonly analysis: string
  readonly shared: SharedBuffers
  /** Must call `IndexWriter.merged` when it is done, whether it succeeded or failed. */
  readonly startMerge: (order: MergeOrder) => void
  /** Starts a thread that helps to load the index. It may fail or be late: the writer does the rest itself. */
  readonly startHelper: (order: LoadOrder) => void
  readonly helpers: number
  /** From this many bytes of sealed segments in the file, helpers take part in loading. */
  readonly helpFromBytes: number
  readonly sealChunks: number
  readonly segmentChunks: number
  readonly mergeMemoryBytes: number
  readonly mergeFanIn: number
  /** The size of each shared memory that is allocated. */
  readonly arenaBytes?: number
  /** How long it waits for others that have the file locked. */
  readonly lockWaitMs?: number
}

export interface WriterThreadOptions extends Omit<WriterOptions, 'startMerge' | 'startHelper'> {
  /** Another file that no other process may have open. */
  readonly lockedToo: string | null
}

export type WriterCall =
  | { readonly call: 'apply'; readonly batch: IndexBatch }
  /** A reader subscribes to every change of the list, through `port`; answered when the whole list is sent. */
  | { readonly call: 'admit'; readonly reader: number; readonly port: MessagePort }
  /** Vectors that a reader could not read. The answer is the damage that they show, empty for none. */
  | { readonly call: 'doubt'; readonly vectors: DoubtfulVectors }
  | { readonly call: 'health' | 'checkpoint' | 'clear' | 'purge' }

/** The order that a merge thread is started with, and its result. */
export interface MergeOrder {
  readonly memories: readonly WebAssembly.Memory[]
  readonly sources: readonly SegmentPlace[]
  readonly generation: number
}

export interface MergeDone {
  readonly merged: MergedSegment | null
  /** Why it failed; empty after a success. */
  readonly reason: string
}
