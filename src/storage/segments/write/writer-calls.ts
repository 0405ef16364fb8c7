import type { MessagePort } from 'node:worker_threads'
import type { IndexBatch } from '../../../search/search-index.ts'
import type { MergedSegment } from '../format/merge-segments.ts'
import type { SharedBuffers } from '../memory/published-list.ts'
import type { SegmentPlace } from '../memory/segment.ts'
import type { DoubtfulVectors } from '../memory/thread-news.ts'
import type { LoadOrder } from './load-together.ts'

export interface WriterOptions {
  readonly path: string
  readonly analysis: string
  readonly shared: SharedBuffers
  /** Calls back `IndexWriter.merged` when it is done, however it ends. */
  readonly startMerge: (order: MergeOrder) => void
  /** Starts a thread that helps to load the index. It may fail, or be late: what it does not do is done without it. */
  readonly startHelper: (order: LoadOrder) => void
  readonly helpers: number
  /** Bytes of sealed segments in the file from which on others help to load them. */
  readonly helpFromBytes: number
  readonly sealChunks: number
  readonly segmentChunks: number
  readonly mergeMemoryBytes: number
  readonly mergeFanIn: number
  /** How much shared memory is taken from the system at once. */
  readonly arenaBytes?: number
  /** How long it waits for others that have the file locked. */
  readonly lockWaitMs?: number
}

export type WriterCall =
  | { readonly call: 'apply'; readonly batch: IndexBatch }
  /** A reader wants to hear of every change of the list, through `port`; answered when the whole list is sent. */
  | { readonly call: 'admit'; readonly reader: number; readonly port: MessagePort }
  /** Vectors that a reader did not find whole. Answered with the damage that they are, empty for none. */
  | { readonly call: 'doubt'; readonly vectors: DoubtfulVectors }
  | { readonly call: 'health' | 'checkpoint' | 'clear' | 'purge' }

/** What a merge thread is started with, and what it sends back. */
export interface MergeOrder {
  readonly memories: readonly WebAssembly.Memory[]
  readonly sources: readonly SegmentPlace[]
  readonly generation: number
}

export interface MergeDone {
  readonly merged: MergedSegment | null
  /** Why it failed, when it did. */
  readonly reason: string
}
