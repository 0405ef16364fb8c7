/**
 * One request to an OpenAI-compatible endpoint, and what its end means.
 *
 *   answer                      outcome                                try again now   the provider is
 *   200, a usable body          vectors                                                up
 *   200, anything else          bad_answer                             no              down
 *   408, 429, 5xx, network      unavailable                            yes             down
 *   no answer in time           timed_out                              yes             down
 *   400, 413, 422               refused: perhaps only these texts      no              up
 *   3xx, other 4xx              misconfigured                          no              down
 *   given up by the caller      aborted                                no              unknown
 *
 * No redirect is followed: the key and the texts go to the configured host and nowhere else. Error bodies are not
 * read: they can repeat the key or the texts.
 */
import { abortedError, EmbeddingError } from './embedding-error.ts'
import { parseAnswer } from './parse-answer.ts'
import { parseRetryAfter } from './retry-delay.ts'
import { withDeadline } from './with-deadline.ts'

export interface Endpoint {
  readonly url: URL
  readonly model: string
  readonly key: string | null
  readonly answerBytesMax: number
}

export type RequestOutcome =
  | { readonly type: 'vectors'; readonly vectors: Float32Array[] }
  | { readonly type: 'refused'; readonly error: EmbeddingError }
  | { readonly type: 'failed'; readonly error: EmbeddingError; readonly again: boolean }
  | { readonly type: 'aborted'; readonly error: EmbeddingError }

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const tooLarge = new EmbeddingError('bad_answer', `the embedding provider answered with more than ${bytesMax} bytes`)
  if (Number(response.headers.get('content-length')) > bytesMax) {
    await response.body?.cancel()
    throw tooLarge
  }
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    // Leaving the loop cancels the rest of the body.
    if (bytes > bytesMax) throw tooLarge
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

function outcomeOfStatus(response: Response): RequestOutcome {
  const { status } = response
  const message = `the embedding provider answered HTTP ${status}`
  if (status === 400 || status === 413 || status === 422) {
    return { type: 'refused', error: new EmbeddingError('misconfigured', message) }
  }
  if (status === 408 || status === 429 || status >= 500) {
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
    const details = retryAfterMs === null ? {} : { retryAfterMs }
    return { type: 'failed', error: new EmbeddingError('unavailable', message, details), again: true }
  }
  return { type: 'failed', error: new EmbeddingError('misconfigured', message), again: false }
}

async function exchange(endpoint: Endpoint, texts: readonly string[], signal: AbortSignal): Promise<RequestOutcome> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' }
  if (endpoint.key !== null) headers.authorization = `Bearer ${endpoint.key}`
  const body = JSON.stringify({ model: endpoint.model, input: texts })
  const response = await fetch(endpoint.url, { method: 'POST', headers, body, redirect: 'manual', signal })
  if (response.status !== 200) {
    await response.body?.cancel()
    return outcomeOfStatus(response)
  }
  const answer = await readBounded(response, endpoint.answerBytesMax)
  return { type: 'vectors', vectors: parseAnswer(answer, texts.length) }
}

/** The system's code for a failed connection (`ECONNREFUSED`), the only part of such an error that is passed on. */
function networkCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : null
  return typeof code === 'string' ? code : 'connection lost'
}

export async function requestEmbeddings(
  endpoint: Endpoint,
  texts: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  return withDeadline(timeoutMs, signal, async (deadline) => {
    try {
      return await exchange(endpoint, texts, deadline)
    } catch (error) {
      if (signal.aborted) return { type: 'aborted', error: abortedError() }
      if (error instanceof EmbeddingError) return { type: 'failed', error, again: false }
      const failure = deadline.aborted
        ? new EmbeddingError('timed_out', `the embedding provider did not answer within ${timeoutMs} ms`)
        : new EmbeddingError('unavailable', `the embedding provider cannot be reached (${networkCode(error)})`)
      return { type: 'failed', error: failure, again: true }
    }
  })
}
