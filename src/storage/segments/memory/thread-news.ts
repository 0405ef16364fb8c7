import type { SentError } from '../../../threads/frames.ts'

/** Of what no call is answered with: background work of the writer, a vector that a reader could not read whole. */
export type ThreadNews =
  | { readonly failed: SentError }
  | { readonly worked: true }
  | { readonly doubtful: DoubtfulVectors }

/** Those that are not in the file, or not whole, for a reader: their chunks may be gone since. */
export interface DoubtfulVectors {
  readonly profile: number
  readonly vectorKeys: readonly number[]
}
