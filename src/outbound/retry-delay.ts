/** Seconds or an HTTP date, as milliseconds from now; `null` when it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number = Date.now()): number | null {
  if (value === null) return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

/** How long is waited of one's own accord: a step that doubles with each attempt. */
export interface RetrySteps {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * How long to wait before trying again: what the server asked for, and at least a random share of the step, so that many
 * callers who failed together do not come back together.
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
