/** The range of a field among the terms and positions of a portion, and its length for BM25. */
export type PackedField = readonly [from: number, to: number, length: number]

/**
 * Changes in the form in which they pass between threads: a few long arrays, which are copied at once, instead of many
 * strings for each document. Each term has a number in the portion and is stored once.
 */
export interface PackedChanges {
  /** JSON of the changes without vectors: the thread in between does not need them. */
  readonly changes: string
  /** The terms in UTF-8, one after the other, and the start of each; the last entry is the end of the last term. */
  readonly termText: Uint8Array<ArrayBuffer>
  readonly termStarts: Uint32Array<ArrayBuffer>
  /** The number and the position of each term, field after field. */
  readonly terms: Uint32Array<ArrayBuffer>
  readonly positions: Uint32Array<ArrayBuffer>
  readonly vectors: readonly PackedVector[]
}

export interface PackedVector {
  readonly chunkId: string
  readonly profileId: string
  readonly vector: ArrayLike<number>
}
