/**
 * Every error code of the service: its HTTP status, whether the same request may succeed later, and the remedy for the
 * caller. The OpenAPI description and the tests read this table. A code that is not in it cannot be thrown.
 */
export const errorTable = {
  unauthorized: {
    status: 401,
    retryable: false,
    remedy:
      'Send a credential that this API accepts as `Authorization: Bearer …`: an Application key, a collector key or an admin token.',
  },
  entitlement_denied: {
    status: 403,
    retryable: false,
    remedy: 'Stay within your entitlements (`GET /v1/account` lists them), or ask the operator to extend them.',
  },
  analysis_forbidden: {
    status: 403,
    retryable: false,
    remedy:
      'Stay within your entitlements (`GET /v1/account`), or ask the operator to extend them or to enable analysis in the policy.',
  },
  role_denied: {
    status: 403,
    retryable: false,
    remedy: 'Use an admin token with the role named in `message`, or ask an owner to create one.',
  },
  dataset_forbidden: {
    status: 403,
    retryable: false,
    remedy: 'Send to a dataset that the collector is allowed to write to, or ask the operator to add this one.',
  },
  not_found: {
    status: 404,
    retryable: false,
    remedy: 'Check the path and the ID in it: `/docs` lists every route.',
  },
  document_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Check the ID. A document outside your entitlements is not found either.',
  },
  version_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Use a `version_id` from the versions of the document.',
  },
  user_not_found: {
    status: 404,
    retryable: false,
    remedy:
      'Check platform and author ID, and extend the window with `created_from`: by default it is the last 24 hours.',
  },
  live_query_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Check the ID: a live query belongs to the application that created it, and is kept for 30 days.',
  },
  task_not_found: {
    status: 404,
    retryable: false,
    remedy: 'Use a `task_id` from a lease, and the key that leased it.',
  },
  analysis_not_found: {
    status: 404,
    retryable: false,
    remedy:
      'Check the ID: runs and subscriptions belong to the application that created them, and expired runs are removed.',
  },
  analysis_artifact_not_found: {
    status: 404,
    retryable: false,
    remedy: 'List the artifacts of the run. They are deleted when the run expires.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    remedy: 'Use a method listed in the `Allow` header.',
  },
  conflict: {
    status: 409,
    retryable: false,
    remedy: 'Read the current state and decide again: `message` says what is in the way.',
  },
  in_use: {
    status: 409,
    retryable: false,
    remedy: 'First remove what `details` lists, or repeat with `force=true`.',
  },
  live_query_results_not_ready: {
    status: 409,
    retryable: true,
    remedy: 'Poll the live query until it has finished, then read its results.',
  },
  task_closed: {
    status: 409,
    retryable: false,
    remedy: 'Drop the task: it is completed, or its deadline has passed.',
  },
  task_lease_lost: {
    status: 409,
    retryable: false,
    remedy: 'Drop the task: its lease ran out, and another collector may have it. Send heartbeats earlier.',
  },
  analysis_run_finished: {
    status: 409,
    retryable: false,
    remedy: 'The run has already finished: read it.',
  },
  cursor_expired: {
    status: 410,
    retryable: false,
    remedy:
      'Start over: export everything (`GET /v1/export`), then read the feed from the `changes_cursor` of that export.',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    remedy: 'Read the current state, apply your change to it, and send it with the `ETag` of that answer.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    remedy: 'Send smaller batches, or NDJSON where it is accepted.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    remedy:
      'Send `Content-Type: application/json`, or `application/x-ndjson` where it is accepted, in an encoding named in `message`.',
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    remedy: 'Request bytes within the file: `Content-Range` says how many there are.',
  },
  expectation_failed: {
    status: 417,
    retryable: false,
    remedy: 'Remove the `Expect` header, or send `100-continue`.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    remedy: 'Use a new `Idempotency-Key` for a different request.',
  },
  /** Only for logs and metrics, because the client is gone. */
  client_closed_request: {
    status: 499,
    retryable: true,
    remedy: 'Only in logs and metrics: the client disconnected before it got an answer.',
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    remedy: 'Send a shorter address and smaller headers: at most 128 KiB in total.',
  },
  request_timeout: {
    status: 408,
    retryable: true,
    remedy: 'Send the request again, without long pauses in headers and body.',
  },
  invalid_request: {
    status: 400,
    retryable: false,
    remedy: 'Fix what `message` and `details` point out.',
  },
  invalid_query: {
    status: 400,
    retryable: false,
    remedy: 'Fix what `message` and `details` point out in the search or live query.',
  },
  invalid_document_query: {
    status: 400,
    retryable: false,
    remedy: 'Fix the parameter named in `message`; a cursor needs the same parameters as the page before.',
  },
  invalid_classification_query: {
    status: 400,
    retryable: false,
    remedy: 'Fix the parameter named in `message`.',
  },
  invalid_changes_query: {
    status: 400,
    retryable: false,
    remedy: 'Fix the parameter named in `message`.',
  },
  invalid_analysis_request: {
    status: 400,
    retryable: false,
    remedy: 'Fix what `message` and `details` point out in the run.',
  },
  invalid_analysis_subscription: {
    status: 400,
    retryable: false,
    remedy: 'Fix what `message` and `details` point out in the subscription.',
  },
  analysis_request_failed: {
    status: 400,
    retryable: false,
    remedy: 'Fix what `message` names, such as an embedding profile that is not active.',
  },
  invalid_cursor: {
    status: 400,
    retryable: false,
    remedy:
      'Send the cursor unchanged, as the same application and with the same parameters; if you did, its signing key is gone: start over, as after `cursor_expired`.',
  },
  rate_limit_exceeded: {
    status: 429,
    retryable: true,
    remedy: 'Wait for the seconds in `Retry-After`, then continue more slowly: `RateLimit` says how much is left.',
  },
  quota_exceeded: {
    status: 429,
    retryable: true,
    remedy: 'Wait for the seconds in `Retry-After` (the quota is daily), or ask the operator to raise it.',
  },
  internal: {
    status: 500,
    retryable: true,
    remedy: 'Try again with growing pauses; if it persists, give the operator the `request_id`.',
  },
  live_query_unavailable: {
    status: 503,
    retryable: true,
    remedy:
      'With `Retry-After`, try again after it. Without, live collection is off for the application: ask its operator for `live.enabled`.',
  },
  search_backend_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses; operators check `/readyz`.',
  },
  overloaded: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses and fewer concurrent requests.',
  },
  storage_full: {
    status: 503,
    retryable: true,
    remedy: 'Try again later: the operator has to free disk space. Reads still work.',
  },
  store_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`, with growing pauses; operators check `/readyz`.',
  },
  catalog_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After`; a narrower window or fewer filters make it faster.',
  },
  changes_unavailable: {
    status: 503,
    retryable: true,
    remedy: 'Try again after `Retry-After` with the same cursor: nothing is lost.',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; remedy: string }>

export type ErrorCode = keyof typeof errorTable

/** A faulty field: its path in the request, and what is wrong with it. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
}

/** An error whose code and message are for the caller. Any other error becomes `internal`. */
export class TidemarkError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    extra: {
      readonly details?: readonly ErrorDetail[]
      /** Null if waiting does not help. */
      readonly retryAfterSeconds?: number | null
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: extra.cause })
    this.name = 'TidemarkError'
    this.code = code
    this.details = extra.details
    const soon = this.status === 503 ? 1 : null
    this.retryAfterSeconds = (extra.retryAfterSeconds === undefined ? soon : extra.retryAfterSeconds) ?? undefined
  }

  get status(): number {
    return errorTable[this.code].status
  }
}

/** Returns the error for one faulty field. The field is in the message and, for programs, in the details. */
export function invalidField(code: ErrorCode, path: string, message: string): TidemarkError {
  return new TidemarkError(code, `${path} ${message}`, { details: [{ path, message }] })
}

/** A part is unavailable at the moment. Thrown by parts that know nothing of HTTP answers. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
}

/** Whether a write failed for lack of space. Writes that only record a read can then wait. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof TidemarkError && error.code === 'storage_full'
}

/** Whether an error is a temporary problem. Any other error is a defect and is never reported as one. */
export function isUnavailability(error: unknown): error is Error {
  return error instanceof UnavailableError || (error instanceof TidemarkError && error.status === 503)
}
