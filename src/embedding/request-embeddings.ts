/**
 * One request to an OpenAI-compatible endpoint, and the meaning of its result.
 *
 *   answer                      outcome                                retry now   the provider is
 *   200, a usable body          vectors                                            up
 *   200, anything else          bad_answer                             no          down
 *   408, 429, 5xx, network      unavailable                            yes         down
 *   no answer in time           timed_out                              no          down
 *   400, 413, 422               refused: perhaps only these texts      no          up
 *   3xx, other 4xx              misconfigured                          no          down
 *   cancelled by the caller     aborted                                no          unknown
 *
 * A request is not retried after a timeout. Attempts would have to share the time, and a slow provider would never
 * answer in its share.
 */
import { type PostOutcome, postJson } from '../outbound/post-json.ts'
import { abortedError, EmbeddingError, type EmbeddingErrorCode } from './embedding-error.ts'
import { parseAnswer } from './parse-answer.ts'

export interface Endpoint {
  readonly url: URL
  readonly model: string
  readonly key: string | null
  readonly answerBytesMax: number
}

export type RequestOutcome =
  | { readonly type: 'vectors'; readonly vectors: Float32Array[] }
  | { readonly type: 'refused'; readonly error: EmbeddingError }
  | { readonly type: 'failed'; readonly error: EmbeddingError; readonly retryable: boolean }
  | { readonly type: 'aborted'; readonly error: EmbeddingError }

export async function requestEmbeddings(
  endpoint: Endpoint,
  texts: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const { url, model, key, answerBytesMax } = endpoint
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
  const bounds = { timeoutMs, answerBytesMax, headers, signal }
  const posted = await postJson(url, { model, input: texts }, bounds)
  switch (posted.outcome) {
    case 'answered':
      return posted.status === 200 ? outcomeOfText(posted.text, texts.length) : outcomeOfStatus(posted)
    case 'too_large':
      return failed('bad_answer', `answered with more than ${answerBytesMax} bytes`, false)
    case 'late':
      return failed('timed_out', `did not answer within ${timeoutMs} ms`, false)
    case 'unreachable':
      return failed('unavailable', `cannot be reached (${posted.code})`, true)
    case 'aborted':
      return { type: 'aborted', error: abortedError() }
  }
}

function outcomeOfText(text: string, count: number): RequestOutcome {
  try {
    return { type: 'vectors', vectors: parseAnswer(text, count) }
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    return { type: 'failed', error, retryable: false }
  }
}

function outcomeOfStatus({ status, retryAfterMs }: Extract<PostOutcome, { outcome: 'answered' }>): RequestOutcome {
  const hint = status === 404 ? ': does its address have the right path, usually /v1?' : ''
  const what = `answered HTTP ${status}${hint}`
  if (status === 400 || status === 413 || status === 422)
    return { type: 'refused', error: errorOf('misconfigured', what) }
  const passes = status === 408 || status === 429 || status >= 500
  return passes ? failed('unavailable', what, true, retryAfterMs) : failed('misconfigured', what, false)
}

function failed(
  code: EmbeddingErrorCode,
  what: string,
  retryable: boolean,
  retryAfterMs: number | null = null,
): RequestOutcome {
  return { type: 'failed', error: errorOf(code, what, retryAfterMs), retryable }
}

const errorOf = (code: EmbeddingErrorCode, what: string, retryAfterMs: number | null = null): EmbeddingError =>
  new EmbeddingError(code, `the embedding provider ${what}`, retryAfterMs === null ? {} : { retryAfterMs })
