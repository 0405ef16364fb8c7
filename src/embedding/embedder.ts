import type { Callers } from '../fair-queue/callers.ts'
import type { BreakerState } from '../outbound/circuit-breaker.ts'

/** Queries and passages with the same words may get different vectors: some models need a prefix on one of them. */
export type EmbeddingKind = 'query' | 'passage'

/**
 * The typical cosines of a model: between a query and an unrelated passage, and between a query and a passage that
 * answers it. Cosines of two models are only comparable after scaling by these.
 */
export interface CosineShape {
  readonly unrelated: number
  readonly related: number
}

/** The assumption for an unknown model. */
export const defaultCosines: CosineShape = { unrelated: 0.4, related: 0.8 }

/** Scales a cosine of one model to the other. */
export function cosineAsOf(cosine: number, of: CosineShape, as: CosineShape): number {
  return as.unrelated + ((cosine - of.unrelated) / (of.related - of.unrelated)) * (as.related - as.unrelated)
}

/**
 * Makes vectors from text under one embedding profile.
 *
 * `embed` returns one vector per text, in order, each of length 1 and of the profile's dimensions, or fails as a whole
 * with an `EmbeddingError`. If only some texts are at fault, the error names them, and the others can be sent again
 * without them. It rejects at once when `signal` fires. An empty list makes no call. Waiting texts are served fairly
 * between `callers`; unnamed callers count as one.
 */
export interface Embedder {
  readonly profileId: string
  readonly model: string
  /** `null` until the provider has answered once; fixed from then on. */
  readonly dimensions: number | null
  /** Lower-case primary language subtags (`en`); `null` if the model is not limited to some languages. */
  readonly languages: readonly string[] | null
  readonly cosines: CosineShape
  /** The state of the circuit breaker before an external server; absent for a built-in model. */
  readonly breaker?: BreakerState
  embed(texts: readonly string[], kind: EmbeddingKind, signal?: AbortSignal, callers?: Callers): Promise<Float32Array[]>
  /** Ends background work. Pending and later calls fail with `closed`. */
  close(): Promise<void>
}

/** Whether the model knows the language of a text. `en-GB` counts as `en`, and a missing language counts as known. */
export function knowsLanguage(embedder: Pick<Embedder, 'languages'>, language: string | null): boolean {
  if (embedder.languages === null || language === null) return true
  const primary = language.toLowerCase().split(/[-_]/, 1)[0] ?? ''
  return embedder.languages.includes(primary)
}
