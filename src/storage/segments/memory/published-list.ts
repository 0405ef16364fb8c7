import type { FilterClass } from '../format/filter-classes.ts'
import type { ColumnPlace, SegmentPlace } from './segment.ts'
import type { DictionaryBuffers } from './term-dictionary.ts'

export interface SharedBuffers {
  readonly control: SharedArrayBuffer
  readonly dictionary: DictionaryBuffers
}

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
