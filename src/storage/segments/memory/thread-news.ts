import type { SentError } from '../../../threads/frames.ts'

/** Of what no call is answered with: background work of the writer, a vector that a reader could not read whole. */
export type ThreadNews = { readonly failed: SentError } | { readonly worked: true }
