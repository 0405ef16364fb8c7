import { UnavailableError } from '../platform/errors.ts'

/**
 * Every way in which embedding fails, and whether the same call may succeed later without intervention.
 *
 * If an error is not retryable and has `textIndexes`, those texts never get a vector, so set them aside. If it is not
 * retryable and has none, the texts are fine, so keep them waiting: an operator must fix the set-up first.
 */
const embeddingErrorCodes = {
  /** No answer, an error (HTTP 408, 429, 5xx), an open circuit breaker, or an exited process. */
  unavailable: { retryable: true },
  /** The provider took longer than one request may take. */
  timed_out: { retryable: true },
  /** More texts wait than the queue takes. */
  overloaded: { retryable: true },
  /** The caller's signal fired. */
  aborted: { retryable: true },
  /** An unusable answer: not JSON, too large, the wrong count, or numbers that are missing or not finite. */
  bad_answer: { retryable: true },
  /** The length differs from the profile's. Vectors of two models must not be mixed in one index. */
  wrong_dimensions: { retryable: false },
  /** The provider refused the request for a reason that a retry cannot fix: key, model, address. */
  misconfigured: { retryable: false },
  /** The provider refused these texts and accepts others. */
  rejected_text: { retryable: false },
  /** The vector of these texts is all zeros, which has no direction. */
  unusable_vector: { retryable: false },
  /** A file of the built-in model is missing or not the shipped one. */
  damaged_model: { retryable: false },
  closed: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>

export type EmbeddingErrorCode = keyof typeof embeddingErrorCodes

export interface EmbeddingErrorDetails {
  /** Positions, in the call's `texts`, of the texts at fault. */
  readonly textIndexes?: readonly number[]
  /** The wait that the provider asked for. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/**
 * Vectors cannot be made, for a known reason. Messages are safe to log: they hold no text, key, file path, or part of a
 * provider's error body.
 */
export class EmbeddingError extends UnavailableError {
  override readonly name = 'EmbeddingError'
  readonly code: EmbeddingErrorCode
  readonly retryable: boolean
  readonly textIndexes: readonly number[]
  readonly retryAfterMs: number | null

  constructor(code: EmbeddingErrorCode, message: string, details: EmbeddingErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.retryable = embeddingErrorCodes[code].retryable
    this.textIndexes = details.textIndexes ?? []
    this.retryAfterMs = details.retryAfterMs ?? null
  }
}

export const abortedError = (): EmbeddingError => new EmbeddingError('aborted', 'the caller cancelled the embedding')

export const closedError = (): EmbeddingError => new EmbeddingError('closed', 'the embedder is closed')
