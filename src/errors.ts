/**
 * Every error code the service answers with: HTTP status, whether the same request may succeed later, and what whoever
 * gets it can do. The OpenAPI description and the tests read this table; a code that is not here cannot be thrown.
 */
export const errorTable = {
  unauthorized: {
    status: 401,
    retryable: false,
    remedy:
      'Send a valid credential of this surface as `Authorization: Bearer …`: consumer, collector and admin each have their own.',
  },
  entitlement_denied: {
    status: 403,
    retryable: false,
    remedy: 'Ask within the entitlements (`GET /v1/account` lists them), or have the operator widen them.',
  },
  analysis_forbidden: {
    status: 403,
    retryable: false,
    remedy:
      'Ask within the entitlements (`GET /v1/account`), or have the operator widen them, or enable analysis in the policy.',
  },
  role_denied: {
    status: 403,
    retryable: false,
    remedy: 'Use an admin token with the role that the message names, or have an owner make one.',
  },
  dataset_forbidden: {
    status: 403,
    retryable: false,
    remedy: 'Send to a dataset that the collector is bound to, or have the operator bind it to this one.',
  },
  not_found: {
    status: 404,
    retryable: false,
    remedy: 'Check the path and the id in it: `/docs` lists every route.',
  },
  document_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Check the id. A document outside the entitlements is not found either.',
  },
  version_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Take an id from the versions of the document.',
  },
  user_not_found: {
    status: 404,
    retryable: false,
    remedy:
      'Check platform and author id, and name a longer window by `created_from`: without one it is the last 24 hours.',
  },
  live_query_not_found: {
    status: 404,
    retryable: false,
    remedy:
      'Take the id from the answer that made the live query: it belongs to the application that made it, and is kept for a time only.',
  },
  task_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Take the id from a lease, and use the key that leased it.',
  },
  analysis_not_found: {
    status: 404,
    retryable: false,
    remedy:
      'Check the id: runs and subscriptions belong to the application that made them, and expired runs are removed.',
  },
  analysis_artifact_not_found: {
    status: 404,
    retryable: false,
    remedy: 'List the artifacts of the run. They are gone once the run has expired.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    remedy: 'Use a method that the header `Allow` names.',
  },
  conflict: {
    status: 409,
    retryable: false,
    remedy: 'Read what is there now, and decide anew: the message says what is in the way.',
  },
  in_use: {
    status: 409,
    retryable: false,
    remedy: 'Remove first what `details` counts, or repeat with `force=true`.',
  },
  live_query_results_not_ready: {
    status: 409,
    retryable: true,
    remedy: 'Ask for the live query until it has finished, then for its results.',
  },
  task_closed: {
    status: 409,
    retryable: false,
    remedy: 'Drop the task: it is complete, or its deadline has passed.',
  },
  task_lease_lost: {
    status: 409,
    retryable: false,
    remedy: 'Drop the task: its lease ran out, and another may have it. Send heartbeats earlier.',
  },
  analysis_run_finished: {
    status: 409,
    retryable: false,
    remedy: 'Nothing is left to cancel: read the run.',
  },
  cursor_expired: {
    status: 410,
    retryable: false,
    remedy:
      'Begin again: read all documents anew (`GET /v1/export`), then the feed from the `changes_cursor` of that export.',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    remedy: 'Read what stands now, bring your change into it, and send it with the `ETag` of that answer.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    remedy: 'Send less at once: smaller batches, or lines (NDJSON) where they are taken.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    remedy:
      'Send `Content-Type: application/json`, or `application/x-ndjson` where lines are taken, in an encoding that the message names.',
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    remedy: 'Ask for bytes that the file has: `Content-Range` says how many there are.',
  },
  expectation_failed: {
    status: 417,
    retryable: false,
    remedy: 'Leave out the header `Expect`, or send `100-continue`.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    remedy: 'Use a new `Idempotency-Key` for another request; the same key is for the same body.',
  },
  /** For logs and metrics: nobody is there to read it. */
  client_closed_request: {
    status: 499,
    retryable: true,
    remedy: 'For logs and metrics: the client went away before it was answered.',
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    remedy: 'Send smaller headers: 16 KiB together are taken.',
  },
  request_timeout: {
    status: 408,
    retryable: true,
    remedy: 'Send the request again, headers and body without long pauses.',
  },
  invalid_request: {
    status: 400,
    retryable: false,
    remedy: 'Put right what `message` and `details` name.',
  },
  invalid_query: {
    status: 400,
    retryable: false,
    remedy: 'Put right what `message` and `details` name in the search or live query.',
  },
  invalid_document_query: {
    status: 400,
    retryable: false,
    remedy:
      'Put right the parameter that the message names; a cursor goes with the same parameters as the page before.',
  },
  invalid_classification_query: {
    status: 400,
    retryable: false,
    remedy: 'Put right the parameter that the message names.',
  },
  invalid_changes_query: {
    status: 400,
    retryable: false,
    remedy: 'Put right the parameter that the message names.',
  },
  invalid_analysis_request: {
    status: 400,
    retryable: false,
    remedy: 'Put right what `message` and `details` name in the run.',
  },
  invalid_analysis_subscription: {
    status: 400,
    retryable: false,
    remedy: 'Put right what `message` and `details` name in the subscription.',
  },
  analysis_request_failed: {
    status: 400,
    retryable: false,
    remedy: 'Put right what the message names, such as an embedding profile that is not active.',
  },
  invalid_cursor: {
    status: 400,
    retryable: false,
    remedy: 'Send the cursor as it was given, by the same application and with the same parameters.',
  },
  rate_limit_exceeded: {
    status: 429,
    retryable: true,
    remedy: 'Wait for the seconds in `Retry-After`, then go on more slowly: `RateLimit` says how much is left.',
  },
  quota_exceeded: {
    status: 429,
    retryable: true,
    remedy: 'Wait for the seconds in `Retry-After` (the quota is daily), or have the operator raise it.',
  },
  internal: {
    status: 500,
    retryable: true,
    remedy: 'Try again with growing pauses; if it stays, give the operator the `request_id`.',
  },
  live_query_unavailable: {
    status: 503,
    retryable: true,
    remedy:
      'Try again after `Retry-After`. If it stays: live is off for the application, or no collector serves the platform.',
  },
  search_backend_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses; operators look at `/readyz`.',
  },
  overloaded: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses and fewer requests at once.',
  },
  storage_full: {
    status: 503,
    retryable: true,
    remedy: 'Try again later: the operator has to make room. Reading goes on.',
  },
  store_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses; operators look at `/readyz`.',
  },
  catalog_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`; a narrower window or fewer filters take less time.',
  },
  changes_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After` with the same cursor: nothing is missed.',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; remedy: string }>

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
