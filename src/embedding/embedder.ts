import type { BreakerState } from '../outbound/circuit-breaker.ts'
import type { Callers } from '../turns/callers.ts'

/** Queries and passages of the same words may get different vectors: some models want a prefix on one of them. */
export type EmbeddingKind = 'query' | 'passage'

/**
 * Where a model's cosines lie: of a query and a passage that has nothing to do with it, and of one that answers it. The
 * cosines of two models can be compared only by these.
 */
export interface CosineShape {
  readonly unrelated: number
  readonly related: number
}

/** What is taken for a model that nothing is known of. */
export const usualCosines: CosineShape = { unrelated: 0.4, related: 0.8 }

/** A cosine of one model as it would be of the other. */
export function cosineAsOf(cosine: number, of: CosineShape, as: CosineShape): number {
  return as.unrelated + ((cosine - of.unrelated) / (of.related - of.unrelated)) * (as.related - as.unrelated)
}

/**
 * What makes vectors from text under one embedding profile.
 *
 * `embed` gives one vector a text, in order, each of length 1 and of the profile's dimensions, or fails as a whole
 * with an `EmbeddingError`; where single texts are at fault the error names them, and the others can be sent again
 * without them. It rejects at once when `signal` fires. No texts give no vectors and no call. Where texts have to wait,
 * `callers` take turns, those who are not named together as one.
 */
export interface Embedder {
  readonly profileId: string
  readonly model: string
  /** `null` until the provider has answered once; fixed from then on. */
  readonly dimensions: number | null
  /** Lower-case primary language subtags (`en`); `null` when the model is not limited to some languages. */
  readonly languages: readonly string[] | null
  readonly cosines: CosineShape
  /** Of the circuit breaker before a foreign server; absent where none is asked. */
  readonly breaker?: BreakerState
  embed(texts: readonly string[], kind: EmbeddingKind, signal?: AbortSignal, callers?: Callers): Promise<Float32Array[]>
  /** Ends what runs in the background. Pending and later calls fail with `closed`. */
  close(): Promise<void>
}

/** `en-GB` counts as `en`. A document that names no language is taken as known: nothing speaks against its vector. */
export function knowsLanguage(embedder: Pick<Embedder, 'languages'>, language: string | null): boolean {
  if (embedder.languages === null || language === null) return true
  const primary = language.toLowerCase().split(/[-_]/, 1)[0] ?? ''
  return embedder.languages.includes(primary)
}
