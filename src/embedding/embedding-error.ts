import { UnavailableError } from '../errors.ts'

/**
 * Every way in which making vectors fails, and whether the same call may succeed later with nobody doing anything.
 *
 * Not retryable with `textIndexes`: those texts will never get a vector, set them aside. Not retryable without:
 * somebody must put the set-up right first; the texts are sound, keep them waiting.
 */
const embeddingErrorCodes = {
  /** No answer, an answer of trouble (HTTP 408, 429, 5xx), an open circuit, a worker that died. */
  unavailable: { retryable: true },
  /** The provider took longer than one request may take. */
  timed_out: { retryable: true },
  /** More texts are waiting than the queue takes. */
  overloaded: { retryable: true },
  /** The caller's signal fired. */
  aborted: { retryable: true },
  /** An answer that cannot be used: not JSON, too large, the wrong count, numbers missing or not finite. */
  bad_answer: { retryable: true },
  /** Another length than the profile's: vectors of two models must not meet in one index. */
  wrong_dimensions: { retryable: false },
  /** The provider refused the request for a reason that repeating will not mend: key, model, address. */
  misconfigured: { retryable: false },
  /** The provider refused these texts and accepts others. */
  rejected_text: { retryable: false },
  /** These texts got a vector of zeros, which has no direction. */
  unusable_vector: { retryable: false },
  /** A file of the built-in model is missing or not the one that was shipped. */
  damaged_model: { retryable: false },
  closed: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>

export type EmbeddingErrorCode = keyof typeof embeddingErrorCodes

export interface EmbeddingErrorDetails {
  /** Positions, in the call's `texts`, of the texts at fault. */
  readonly textIndexes?: readonly number[]
  /** What the provider asked callers to wait. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** Of any code, a known trouble: vectors cannot be had. Messages are fit for a log: no text, no key, no path of a file, nothing of what a provider's error body said. */
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

export const abortedError = (): EmbeddingError => new EmbeddingError('aborted', 'the caller gave up on the embedding')

export const closedError = (): EmbeddingError => new EmbeddingError('closed', 'the embedder is closed')
