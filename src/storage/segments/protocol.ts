import type { MessagePort } from 'node:worker_threads'
import type {
  CountOutcome,
  CountRequest,
  IndexBatch,
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  VectorOutcome,
  VectorRequest,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../search/search-index.ts'
import type { SentError } from '../../threads/frames.ts'
import type { FilterClass } from './filter-classes.ts'
import type { MergedSegment } from './merge-segments.ts'
import type { ColumnPlace, SegmentPlace } from './segment.ts'
import type { DictionaryBuffers } from './term-dictionary.ts'

/** An embedding profile by the number the index gave it. */
export interface Profile {
  readonly number: number
  readonly profileId: string
  readonly dimensions: number
}

/** Writer to readers: what changed since the list version before. */
export interface ListUpdate {
  readonly kind: 'list'
  readonly version: number
  readonly memories: readonly (readonly [number, WebAssembly.Memory])[]
  readonly add: readonly SegmentPlace[]
  readonly remove: readonly number[]
  readonly columns: readonly { readonly segment: number; readonly place: ColumnPlace }[]
  /** The reader keeps its first `classesFrom` classes and adds these. */
  readonly classesFrom: number
  readonly classes: readonly FilterClass[]
  readonly profiles: readonly Profile[]
  readonly fileEpoch: number
}

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

export interface SharedBuffers {
  readonly control: SharedArrayBuffer
  readonly dictionary: DictionaryBuffers
}

export interface WriterOptions {
  readonly path: string
  readonly analysis: string
  readonly shared: SharedBuffers
  /** Calls back `IndexWriter.merged` when it is done, however it ends. */
  readonly startMerge: (order: MergeOrder) => void
  readonly sealChunks: number
  readonly segmentChunks: number
  readonly mergeMemoryBytes: number
  readonly mergeFanIn: number
  /** How much shared memory is taken from the system at once. */
  readonly arenaBytes?: number
}

export interface ReaderOptions {
  readonly path: string
  readonly reader: number
  readonly shared: SharedBuffers
  readonly writer: MessagePort
  readonly titleWeight: number
  readonly kernel: 'simd' | 'plain'
}

export type WriterCall =
  | { readonly call: 'apply'; readonly batch: IndexBatch }
  /** A reader wants to hear of every change of the list, through `port`; answered when the whole list is sent. */
  | { readonly call: 'admit'; readonly reader: number; readonly port: MessagePort }
  | { readonly call: 'health' | 'checkpoint' | 'clear' }

/** A search that several threads can do together. */
export type SplitCall =
  | { readonly call: 'keyword'; readonly request: KeywordRequest }
  | { readonly call: 'vector'; readonly request: VectorRequest }

export type ReaderCall =
  | SplitCall
  | { readonly call: 'score'; readonly request: ScoreRequest }
  | { readonly call: 'count'; readonly request: CountRequest }
  | { readonly call: 'withoutVector'; readonly request: WithoutVectorRequest }

export type Outcome = KeywordOutcome | VectorOutcome | ScoreOutcome | CountOutcome | WithoutVectorOutcome

export interface SearchReply {
  readonly outcome: Outcome
  /** Names the state of the index that was searched: equal for equal states. `null` where none was. */
  readonly state: number | null
}

/** Of what no call is answered with: background work of the writer, a vector that a reader could not read whole. */
export type ThreadNews = { readonly failed: SentError } | { readonly worked: true }
