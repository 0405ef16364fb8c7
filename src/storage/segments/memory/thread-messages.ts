import type { SentError } from '../../../threads/frames.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { ColumnLocation, SegmentLocation } from './segment.ts'
import type { DictionaryBuffers } from './term-dictionary.ts'

export interface SharedBuffers {
  readonly control: SharedArrayBuffer
  readonly dictionary: DictionaryBuffers
}

/** An embedding profile with its number in the index. */
export interface Profile {
  readonly number: number
  readonly profileId: string
  readonly dimensions: number
}

/** The changes since the previous list version, sent by the writer to the readers. */
export interface ListUpdate {
  readonly kind: 'list'
  readonly version: number
  readonly memories: readonly (readonly [number, WebAssembly.Memory])[]
  readonly add: readonly SegmentLocation[]
  readonly remove: readonly number[]
  readonly columns: readonly { readonly segment: number; readonly location: ColumnLocation }[]
  /** The reader keeps its first `classesFrom` classes and adds these. */
  readonly classesFrom: number
  readonly classes: readonly FilterClass[]
  readonly profiles: readonly Profile[]
  readonly fileEpoch: number
}

/**
 * A message that does not answer a call: background work failed or works again, or a reader could not read vectors.
 */
export type ThreadNotification =
  | { readonly failed: SentError }
  | { readonly worked: true }
  | { readonly suspect: SuspectVectors }

/** Vectors that a reader found missing or damaged in the file. Their chunks may have been deleted meanwhile. */
export interface SuspectVectors {
  readonly profile: number
  readonly vectorKeys: readonly number[]
}
