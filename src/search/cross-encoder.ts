/**
 * A cross-encoder reads query and text together, which ranks better than anything made of each alone and costs a model
 * run a text. It is somebody else's server, in the form that rerank servers share:
 *
 *   POST {url}/rerank  {query, documents: [text, …], top_n}  ->  {results: [{index, relevance_score}, …]}
 *
 * `url` may end in `/rerank` itself; a query string is kept. Whatever goes wrong (no answer in time, an error, a
 * redirect, too long an answer, other than one finite score a text) is one outcome, it is unavailable, and the search
 * goes on with its own ranking. After a few failures in a row it is left alone for a while, so that a server that hangs
 * does not cost every search its time limit. Callers take turns at it, so that one who asks for much does not spend the
 * time of another's. Error bodies are not read, and no message repeats address or texts.
 */
import { CircuitBreaker } from '../embedding/circuit-breaker.ts'
import { withDeadline } from '../embedding/with-deadline.ts'
import { UnavailableError } from '../errors.ts'
import type { Caller } from '../turns/caller.ts'
import { Callers } from '../turns/callers.ts'
import { FairTurns } from '../turns/fair-turns.ts'
import { searchLimits as limits } from './limits.ts'

export interface CrossEncoder {
  /** One score a text, 0 to 1, in order. Rejects with an `UnavailableError` when there is none to be had. */
  scores(query: string, texts: readonly string[], caller?: Caller): Promise<readonly number[]>
}

export interface HttpCrossEncoderOptions {
  readonly url: string
  /** Waiting for a turn counts too. */
  readonly timeoutMs?: number
  /** At once, besides the first of every caller. */
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
  readonly #turns: FairTurns

  constructor(options: HttpCrossEncoderOptions) {
    const url = new URL(options.url)
    const path = url.pathname.replace(/\/+$/, '')
    url.pathname = path.endsWith('/rerank') ? path : `${path}/rerank`
    this.#url = url
    this.#timeoutMs = options.timeoutMs ?? limits.crossEncoderWaitMs
    this.#answerBytesMax = options.answerBytesMax ?? limits.crossEncoderAnswerBytesMax
    this.#breaker = new CircuitBreaker({
      failuresMax: options.failuresMax ?? 3,
      cooldownMs: options.cooldownMs ?? 10_000,
    })
    this.#turns = new FairTurns(options.requestsMax ?? 4)
  }

  async scores(query: string, texts: readonly string[], caller?: Caller): Promise<readonly number[]> {
    if (texts.length === 0) return []
    return withDeadline(this.#timeoutMs, caller?.signal, async (signal) => {
      const endTurn = await this.#turns.take(new Callers(caller?.id), signal)
      try {
        if (endTurn === null) throw signal.reason
        return await this.#askedOf(query, texts, signal)
      } catch (error) {
        if (error instanceof UnavailableError) throw error
        throw unavailable(caller?.signal.aborted ? 'the client went away' : reasonOf(error, this.#timeoutMs))
      } finally {
        endTurn?.()
      }
    })
  }

  async #askedOf(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]> {
    const permit = this.#breaker.admit()
    if (permit === null) throw unavailable('it failed several times and is left alone for a while')
    const startedMs = performance.now()
    try {
      const answer = await this.#exchange(query, texts, signal)
      permit.succeeded()
      return answer
    } catch (error) {
      // One that came late to its turn, or whose client went away, did not give it its time.
      if (signal.aborted && performance.now() - startedMs < this.#timeoutMs / 2) permit.givenUp()
      else permit.failed()
      throw error
    }
  }

  async #exchange(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query, documents: texts, top_n: texts.length }),
      redirect: 'manual',
      signal,
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new BadAnswer(`HTTP ${response.status}`)
    }
    return readScores(await readBounded(response, this.#answerBytesMax), texts.length)
  }
}

class BadAnswer extends Error {}

const unavailable = (why: string): UnavailableError => new UnavailableError(`the rerank endpoint: ${why}`)

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    // Leaving the loop cancels the rest of the body.
    if (bytes > bytesMax) throw new BadAnswer(`more than ${bytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Every index once, every score a finite number. Some servers give probabilities, some the model's bare logits: an
 * answer with any score outside 0..1 is taken as logits.
 */
function readScores(body: string, count: number): number[] {
  const answer = parsed(body)
  const results = isRecord(answer) ? answer.results : null
  if (!Array.isArray(results)) throw new BadAnswer('no list `results`')
  if (results.length !== count) throw new BadAnswer(`${results.length} results for ${count} texts`)
  const scores = new Array<number>(count).fill(Number.NaN)
  for (const result of results as unknown[]) {
    const { index, relevance_score: score } = isRecord(result) ? result : {}
    if (typeof index !== 'number' || !(index in scores)) throw new BadAnswer('an `index` outside the texts')
    if (typeof score !== 'number' || !Number.isFinite(score)) throw new BadAnswer('a score that is no number')
    if (!Number.isNaN(scores[index])) throw new BadAnswer('the same `index` twice')
    scores[index] = score
  }
  const areLogits = scores.some((score) => score < 0 || score > 1)
  return areLogits ? scores.map((score) => 1 / (1 + Math.exp(-score))) : scores
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new BadAnswer('something other than JSON')
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof BadAnswer) return `it answered ${error.message}`
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  return isLate ? `it did not answer within ${timeoutMs} ms` : 'it cannot be reached'
}
