/**
 * Sends one JSON POST to a server that an operator has named, and reports how it ended. Never rejects.
 *
 * Redirects are not followed: the body goes to the named host and nowhere else. Bodies of error responses are read only
 * on request, because they can repeat what was sent, including keys. A failed connection is reported only by the
 * system's error code (`ECONNREFUSED`).
 */
import { readBounded, TooLarge } from './read-bounded.ts'
import { parseRetryAfter } from './retry-delay.ts'
import { withDeadline } from './with-deadline.ts'

export interface PostBounds {
  /** The time limit for the whole response. */
  readonly timeoutMs: number
  readonly answerBytesMax: number
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** Whether to read the body of a response with another status than 200. */
  readonly readsRefusals?: boolean
}

export type PostOutcome =
  | {
      readonly outcome: 'answered'
      readonly status: number
      readonly text: string
      /** The wait that the server asked for. */
      readonly retryAfterMs: number | null
    }
  | { readonly outcome: 'too_large' }
  | { readonly outcome: 'late' }
  | { readonly outcome: 'unreachable'; readonly code: string }
  /** The caller's signal fired. */
  | { readonly outcome: 'aborted' }

export function postJson(url: URL, body: unknown, bounds: PostBounds): Promise<PostOutcome> {
  return withDeadline(bounds.timeoutMs, bounds.signal, async (signal) => {
    try {
      return await exchange(url, body, bounds, signal)
    } catch (error) {
      if (bounds.signal?.aborted) return { outcome: 'aborted' }
      if (error instanceof TooLarge) return { outcome: 'too_large' }
      return signal.aborted ? { outcome: 'late' } : { outcome: 'unreachable', code: networkCode(error) }
    }
  })
}

async function exchange(url: URL, body: unknown, bounds: PostBounds, signal: AbortSignal): Promise<PostOutcome> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...bounds.headers },
    body: JSON.stringify(body),
    redirect: 'manual',
    signal,
  })
  const { status } = response
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
  if (status !== 200 && bounds.readsRefusals !== true) {
    await response.body?.cancel()
    return { outcome: 'answered', status, text: '', retryAfterMs }
  }
  const bytes = await readBounded(response.body, bounds.answerBytesMax, response.headers.get('content-length'))
  return { outcome: 'answered', status, text: new TextDecoder().decode(bytes), retryAfterMs }
}

function networkCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : null
  return typeof code === 'string' ? code : 'connection lost'
}
