/**
 * Every error code the service answers with, on one line each: HTTP status and whether the same request may succeed
 * later. The OpenAPI description and the tests read this table; a code that is not here cannot be thrown.
 */
export const errorTable = {
  unauthorized: { status: 401, retryable: false },
  entitlement_denied: { status: 403, retryable: false },
  analysis_forbidden: { status: 403, retryable: false },
  dataset_forbidden: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  document_not_found: { status: 404, retryable: false },
  version_not_found: { status: 404, retryable: false },
  user_not_found: { status: 404, retryable: false },
  live_query_not_found: { status: 404, retryable: false },
  task_not_found: { status: 404, retryable: false },
  analysis_not_found: { status: 404, retryable: false },
  analysis_artifact_not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  conflict: { status: 409, retryable: false },
  in_use: { status: 409, retryable: false },
  live_query_results_not_ready: { status: 409, retryable: true },
  task_closed: { status: 409, retryable: false },
  task_lease_lost: { status: 409, retryable: false },
  analysis_run_finished: { status: 409, retryable: false },
  cursor_expired: { status: 410, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  range_not_satisfiable: { status: 416, retryable: false },
  expectation_failed: { status: 417, retryable: false },
  idempotency_key_reused: { status: 422, retryable: false },
  /** For logs and metrics: nobody is there to read it. */
  client_closed_request: { status: 499, retryable: true },
  headers_too_large: { status: 431, retryable: false },
  request_timeout: { status: 408, retryable: true },
  invalid_request: { status: 400, retryable: false },
  invalid_query: { status: 400, retryable: false },
  invalid_document_query: { status: 400, retryable: false },
  invalid_classification_query: { status: 400, retryable: false },
  invalid_changes_query: { status: 400, retryable: false },
  invalid_analysis_request: { status: 400, retryable: false },
  invalid_analysis_subscription: { status: 400, retryable: false },
  analysis_request_failed: { status: 400, retryable: false },
  invalid_cursor: { status: 400, retryable: false },
  rate_limit_exceeded: { status: 429, retryable: true },
  quota_exceeded: { status: 429, retryable: true },
  internal: { status: 500, retryable: true },
  live_query_unavailable: { status: 503, retryable: true },
  search_backend_unavailable: { status: 503, retryable: true },
  overloaded: { status: 503, retryable: true },
  storage_full: { status: 503, retryable: true },
  store_unavailable: { status: 503, retryable: true },
  catalog_unavailable: { status: 503, retryable: true },
  changes_unavailable: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>

export type ErrorCode = keyof typeof errorTable

/** One field at fault: where it is in the request, and what it should be. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
}

/** An error whose code and message are meant for the caller. Anything else that is thrown becomes `internal`. */
export class TidemarkError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    extra: { details?: readonly ErrorDetail[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: extra.cause })
    this.name = 'TidemarkError'
    this.code = code
    this.details = extra.details
    this.retryAfterSeconds = extra.retryAfterSeconds
  }

  get status(): number {
    return errorTable[this.code].status
  }
}

/** One field is at fault: told in the message, and in the details for programs. */
export function invalidField(code: ErrorCode, path: string, message: string): TidemarkError {
  return new TidemarkError(code, `${path} ${message}`, { details: [{ path, message }] })
}

/** A part is not there at the moment: what parts throw that know nothing of answers. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
}

/** There is no room for a write. Whatever only notes down what was read can wait for room. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof TidemarkError && error.code === 'storage_full'
}

/** A known trouble that passes. Anything else that is thrown is a defect, and is never told as a trouble. */
export function isUnavailability(error: unknown): error is Error {
  return error instanceof UnavailableError || (error instanceof TidemarkError && error.status === 503)
}
