/** Parses seconds or an HTTP date to milliseconds from now; `null` if it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number = Date.now()): number | null {
  if (value === null) return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

/** The delays if the server asks for none. The delay doubles with each attempt. */
export interface RetrySteps {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * Returns how long to wait before a retry: exponential backoff with jitter, and at least the time that the server asked
 * for. The jitter keeps callers that failed together from retrying together.
 */
export function retryDelay(
  attempt: number,
  { firstMs, maxMs }: RetrySteps,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number {
  const jittered = Math.min(maxMs, firstMs * 2 ** (attempt - 1)) * (0.5 + random() / 2)
  return Math.max(jittered, retryAfterMs ?? 0)
}
