/**
 * A cross-encoder reads query and text together. It ranks better than a comparison of separate embeddings, and needs
 * one model run for each text. It is an external server with the API that rerank servers share:
 *
 *   POST {url}/rerank  {query, documents: [text, …], top_n}  ->  {results: [{index, relevance_score}, …]}
 *
 * `url` may end in `/rerank` itself; a query string is kept. Every failure has the same outcome: the cross-encoder is
 * unavailable, and the search keeps the order of the built-in reranker. Failures are timeouts, errors, redirects,
 * answers that are too long, and answers without exactly one finite score for each text. After a few failures in a row,
 * a circuit breaker stops requests for a while, so that a server that hangs does not cost every search its time limit.
 * A fair queue shares the server between callers, so that a busy one does not delay the others. Error bodies are not
 * read, and no message contains the address or texts.
 */

import type { Caller } from '../../fair-queue/caller.ts'
import { Callers } from '../../fair-queue/callers.ts'
import { FairSlots } from '../../fair-queue/fair-slots.ts'
import { type BreakerState, CircuitBreaker } from '../../outbound/circuit-breaker.ts'
import { type PostOutcome, postJson } from '../../outbound/post-json.ts'
import { withDeadline } from '../../outbound/with-deadline.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { searchLimits as limits } from '../limits.ts'

export interface CrossEncoder {
  /** The state of its circuit breaker; absent if it has none. */
  readonly breaker?: BreakerState
  /** One score for each text, 0 to 1, in order. Rejects with an `UnavailableError` if there are no scores. */
  scores(query: string, texts: readonly string[], caller?: Caller): Promise<readonly number[]>
}

export interface HttpCrossEncoderOptions {
  readonly url: string
  /** Includes waiting for a slot. */
  readonly timeoutMs: number
  /** Concurrent requests, besides the first one of every caller. */
  readonly requestsMax?: number
  readonly answerBytesMax?: number
  readonly failuresMax?: number
  readonly cooldownMs?: number
}

export class HttpCrossEncoder implements CrossEncoder {
  readonly #url: URL
  readonly #timeoutMs: number
  readonly #answerBytesMax: number
  readonly #breaker: CircuitBreaker
  readonly #slots: FairSlots

  constructor(options: HttpCrossEncoderOptions) {
    const url = new URL(options.url)
    const path = url.pathname.replace(/\/+$/, '')
    url.pathname = path.endsWith('/rerank') ? path : `${path}/rerank`
    this.#url = url
    this.#timeoutMs = options.timeoutMs
    this.#answerBytesMax = options.answerBytesMax ?? limits.crossEncoderAnswerBytesMax
    this.#breaker = new CircuitBreaker({
      failuresMax: options.failuresMax ?? 3,
      cooldownMs: options.cooldownMs ?? 10_000,
    })
    this.#slots = new FairSlots(options.requestsMax ?? 4)
  }

  get breaker(): BreakerState {
    return this.#breaker.state
  }

  async scores(query: string, texts: readonly string[], caller?: Caller): Promise<readonly number[]> {
    if (texts.length === 0) return []
    return withDeadline(this.#timeoutMs, caller?.signal, async (signal) => {
      const release = await this.#slots.take(new Callers(caller?.id), signal)
      try {
        const scores = release === null ? null : await this.#ask(query, texts, signal)
        if (scores !== null) return scores
        const late = `it did not answer within ${this.#timeoutMs} ms`
        throw unavailable(caller?.signal.aborted ? 'the client disconnected' : late)
      } finally {
        release?.()
      }
    })
  }

  /** Returns null if the time limit passed or the client disconnected before there was an answer. */
  async #ask(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[] | null> {
    const permit = this.#breaker.admit()
    if (permit === null) throw unavailable('it failed several times in a row and is not called for a while')
    const startedMs = performance.now()
    const bounds = { timeoutMs: this.#timeoutMs, answerBytesMax: this.#answerBytesMax, signal }
    const posted = await postJson(this.#url, { query, documents: texts, top_n: texts.length }, bounds)
    if (posted.outcome === 'aborted' || posted.outcome === 'late') {
      // If the request waited long for its slot, or its client disconnected, the server had too little time to answer.
      if (performance.now() - startedMs < this.#timeoutMs / 2) permit.abandoned()
      else permit.failed()
      return null
    }
    try {
      const scores = readScores(textOf(posted), texts.length)
      permit.succeeded()
      return scores
    } catch (error) {
      permit.failed()
      throw error
    }
  }
}

const unavailable = (why: string): UnavailableError => new UnavailableError(`the rerank endpoint: ${why}`)
const answered = (what: string): UnavailableError => unavailable(`it answered ${what}`)

function textOf(posted: Exclude<PostOutcome, { outcome: 'aborted' | 'late' }>): string {
  if (posted.outcome === 'unreachable') throw unavailable('it cannot be reached')
  if (posted.outcome === 'too_large') throw answered('with too many bytes')
  if (posted.status !== 200) throw answered(`HTTP ${posted.status}`)
  return posted.text
}

/**
 * Requires every index once and a finite number as every score. Some servers return probabilities, some the raw logits
 * of the model: an answer with any score outside 0..1 is read as logits.
 */
function readScores(body: string, count: number): number[] {
  const answer = parsed(body)
  const results = isRecord(answer) ? answer.results : null
  if (!Array.isArray(results)) throw answered('without a list `results`')
  if (results.length !== count) throw answered(`with ${results.length} results for ${count} texts`)
  const scores = new Array<number>(count).fill(Number.NaN)
  for (const result of results as unknown[]) {
    const { index, relevance_score: score } = isRecord(result) ? result : {}
    if (typeof index !== 'number' || !(index in scores)) throw answered('with an `index` outside the texts')
    if (typeof score !== 'number' || !Number.isFinite(score)) throw answered('with a score that is not a number')
    if (!Number.isNaN(scores[index])) throw answered('with the same `index` twice')
    scores[index] = score
  }
  const areLogits = scores.some((score) => score < 0 || score > 1)
  return areLogits ? scores.map((score) => 1 / (1 + Math.exp(-score))) : scores
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw answered('with something other than JSON')
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
