import type { SentError } from '../../../threads/frames.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { ColumnPlace, SegmentPlace } from './segment.ts'
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

/** From the writer to the readers: the changes since the previous list version. */
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

/**
 * A message that does not answer a call: a failure of the writer's background work, or a vector that a reader could not
 * read.
 */
export type ThreadNotification =
  | { readonly failed: SentError }
  | { readonly worked: true }
  | { readonly doubtful: DoubtfulVectors }

/** Vectors that a reader found missing or damaged in the file: their chunks may have been deleted since. */
export interface DoubtfulVectors {
  readonly profile: number
  readonly vectorKeys: readonly number[]
}
