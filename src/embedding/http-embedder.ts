/**
 * Gets vectors from an OpenAI-compatible endpoint.
 *
 * `url` is the base that such providers document (`https://host/v1`): requests go to `{url}/embeddings`. A URL that
 * already ends in `/embeddings` is used as it is. A query string is kept.
 *
 * A call is split into batches, a few at a time. Temporary errors are retried after a pause. If the provider asks for a
 * longer pause than `retryDelayMaxMs`, the call fails and says how long. When the provider refuses a batch (HTTP 400,
 * 413, 422), one harmless word is sent: if that is refused too, the set-up is wrong; if not, bisection finds the texts
 * at fault, and the error names them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Callers } from '../fair-queue/callers.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import { type BreakerState, CircuitBreaker, type Permit } from '../outbound/circuit-breaker.ts'
import { type RetrySteps, retryDelay } from '../outbound/retry-delay.ts'
import { batchTexts } from './batch-texts.ts'
import { defaultCosines, type Embedder, type EmbeddingKind } from './embedder.ts'
import { abortedError, closedError, EmbeddingError } from './embedding-error.ts'
import type { TextFault } from './normalise-vector.ts'
import { normaliseVector, vectorsOrFault } from './normalise-vector.ts'
import type { Endpoint, RequestOutcome } from './request-embeddings.ts'
import { requestEmbeddings } from './request-embeddings.ts'

export interface HttpEmbedderOptions {
  readonly profileId: string
  readonly url: string
  readonly model: string
  readonly key?: string | null
  /** The dimensions of an existing profile. `null` or absent: taken from the first answer. */
  readonly dimensions?: number | null
  readonly languages?: readonly string[] | null
  readonly queryPrefix?: string
  readonly passagePrefix?: string
  readonly batchTextsMax?: number
  readonly batchCharsMax?: number
  /** Concurrent requests of one call. */
  readonly requestsMax?: number
  /**
   * Concurrent queries at the provider, beyond the first of each caller; others wait in a fair queue. With a provider
   * that works on one request at a time, a query may wait there for this many others.
   */
  readonly queriesMax?: number
  /**
   * More than the 5 seconds that a search waits, because a search that joins another's request has 5 seconds of its
   * own.
   */
  readonly queryTimeoutMs?: number
  readonly passageTimeoutMs?: number
  readonly attemptsMax?: number
  readonly retryDelayMs?: number
  readonly retryDelayMaxMs?: number
  readonly answerBytesMax?: number
  readonly breakerFailuresMax?: number
  readonly breakerCooldownMs?: number
}

const controlText = 'word'

type Result = Float32Array | TextFault

/** Messages do not repeat the value: an address can hold a password, and the key is secret. */
function parseEndpoint(options: HttpEmbedderOptions): Endpoint {
  const wrong = (what: string): EmbeddingError => new EmbeddingError('misconfigured', what)
  const url = URL.parse(options.url)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw wrong('the embedding address must be an http or https URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw wrong('the embedding address must not hold a user name or password')
  }
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = path.endsWith('/embeddings') ? path : `${path}/embeddings`
  const key = options.key ?? null
  // `fetch` refuses any other key with an error that repeats it.
  if (key !== null && !/^[\x21-\x7e]+$/.test(key)) throw wrong('the embedding key must be printable ASCII, no spaces')
  return { url, model: options.model, key, answerBytesMax: options.answerBytesMax ?? 32 * 1024 * 1024 }
}

export class HttpEmbedder implements Embedder {
  readonly profileId: string
  readonly model: string
  readonly languages: readonly string[] | null
  readonly cosines = defaultCosines

  readonly #endpoint: Endpoint
  readonly #prefixes: Readonly<Record<EmbeddingKind, string>>
  readonly #timeoutsMs: Readonly<Record<EmbeddingKind, number>>
  readonly #limits: { textsMax: number; charsMax: number }
  readonly #requestsMax: number
  readonly #querySlots: FairSlots
  readonly #attemptsMax: number
  readonly #retrySteps: RetrySteps
  readonly #breaker: CircuitBreaker
  readonly #calls = new Set<AbortController>()
  #dimensions: number | null
  #lastFailure = 'it failed repeatedly'
  #closed = false

  constructor(options: HttpEmbedderOptions) {
    this.profileId = options.profileId
    this.model = options.model
    this.languages = options.languages ?? null
    this.#endpoint = parseEndpoint(options)
    this.#prefixes = { query: options.queryPrefix ?? '', passage: options.passagePrefix ?? '' }
    this.#timeoutsMs = { query: options.queryTimeoutMs ?? 10_000, passage: options.passageTimeoutMs ?? 90_000 }
    // Parsing 32 vectors of 1,536 numbers as JSON takes the main thread about 6 ms.
    this.#limits = { textsMax: options.batchTextsMax ?? 32, charsMax: options.batchCharsMax ?? 64_000 }
    this.#requestsMax = options.requestsMax ?? 4
    this.#querySlots = new FairSlots(options.queriesMax ?? 8)
    this.#attemptsMax = options.attemptsMax ?? 3
    this.#retrySteps = { firstMs: options.retryDelayMs ?? 200, maxMs: options.retryDelayMaxMs ?? 10_000 }
    this.#breaker = new CircuitBreaker({
      failuresMax: options.breakerFailuresMax ?? 5,
      cooldownMs: options.breakerCooldownMs ?? 5_000,
    })
    this.#dimensions = options.dimensions ?? null
  }

  get dimensions(): number | null {
    return this.#dimensions
  }

  get breaker(): BreakerState {
    return this.#breaker.state
  }

  async embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
    callers: Callers = new Callers(),
  ): Promise<Float32Array[]> {
    if (this.#closed) throw closedError()
    if (signal?.aborted) throw abortedError()
    if (kind === 'passage') return this.#embedNow(texts, kind, signal)
    const releaseSlot = await this.#querySlots.take(callers, signal)
    if (releaseSlot === null) throw abortedError()
    try {
      return await this.#embedNow(texts, kind, signal)
    } finally {
      releaseSlot()
    }
  }

  async #embedNow(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array[]> {
    if (this.#closed) throw closedError()
    // Half of a surrogate pair cannot be encoded as UTF-8, and strict providers refuse the whole request.
    const prefixed = texts.map((text) => (this.#prefixes[kind] + text).toWellFormed())
    const batches = batchTexts(prefixed, this.#limits)
    const results = new Array<Result[]>(batches.length)
    const call = new AbortController()
    const onAbort = (): void => call.abort()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#calls.add(call)
    let next = 0
    let failure: unknown = null
    const work = async (): Promise<void> => {
      while (next < batches.length && failure === null) {
        const index = next++
        results[index] = await this.#embedBatch(batches[index]!, kind, call.signal)
      }
    }
    // The first failure stops the other batches of the call.
    const guarded = (): Promise<void> =>
      work().catch((error: unknown) => {
        failure ??= error
        call.abort()
      })
    try {
      await Promise.all(Array.from({ length: Math.min(this.#requestsMax, batches.length) }, guarded))
    } finally {
      this.#calls.delete(call)
      signal?.removeEventListener('abort', onAbort)
    }
    if (this.#closed) throw closedError()
    if (signal?.aborted) throw abortedError()
    if (failure !== null) throw failure
    return vectorsOrFault(results.flat())
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const call of this.#calls) call.abort()
  }

  async #embedBatch(texts: readonly string[], kind: EmbeddingKind, signal: AbortSignal): Promise<Result[]> {
    const results = await this.#attempt(texts, kind, signal)
    if (!(results instanceof EmbeddingError)) return results
    const control = await this.#attempt([controlText], kind, signal)
    if (control instanceof EmbeddingError) throw results
    return this.#isolate(texts, kind, signal)
  }

  /** Bisects texts that were refused together until each refused text stands alone. */
  async #isolate(texts: readonly string[], kind: EmbeddingKind, signal: AbortSignal): Promise<Result[]> {
    if (texts.length === 1) return ['rejected_text']
    const middle = texts.length >> 1
    const results: Result[] = []
    for (const half of [texts.slice(0, middle), texts.slice(middle)]) {
      const tried = await this.#attempt(half, kind, signal)
      results.push(...(tried instanceof EmbeddingError ? await this.#isolate(half, kind, signal) : tried))
    }
    return results
  }

  /** Retries until there are results or a refusal, which is returned. Throws any other error. */
  async #attempt(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal,
  ): Promise<Result[] | EmbeddingError> {
    for (let attempt = 1; ; attempt++) {
      const permit = this.#breaker.admit()
      if (permit === null) {
        const message = `requests to the embedding provider are paused: ${this.#lastFailure}`
        throw new EmbeddingError('unavailable', message, { retryAfterMs: Math.ceil(this.#breaker.waitMs) })
      }
      const outcome = await this.#request(texts, kind, signal, permit)
      if (outcome.type === 'vectors') return outcome.results
      if (outcome.type === 'refused') return outcome.error
      const { error } = outcome
      if (outcome.type === 'aborted' || !outcome.retryable || attempt >= this.#attemptsMax) throw error
      const delayMs = retryDelay(attempt, this.#retrySteps, error.retryAfterMs)
      if (delayMs > this.#retrySteps.maxMs || this.#breaker.state === 'open') throw error
      await sleep(delayMs, undefined, { signal }).catch(() => {
        throw abortedError()
      })
    }
  }

  async #request(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal: AbortSignal,
    permit: Permit,
  ): Promise<Exclude<RequestOutcome, { type: 'vectors' }> | { type: 'vectors'; results: Result[] }> {
    const timeoutMs = this.#timeoutsMs[kind]
    const startedMs = performance.now()
    const outcome = await requestEmbeddings(this.#endpoint, texts, timeoutMs, signal)
    switch (outcome.type) {
      case 'vectors':
        try {
          const results = this.#check(outcome.vectors)
          permit.succeeded()
          return { type: 'vectors', results }
        } catch (error) {
          permit.failed()
          if (!(error instanceof EmbeddingError)) throw error
          this.#lastFailure = error.message
          return { type: 'failed', error, retryable: false }
        }
      case 'refused':
        permit.succeeded()
        return outcome
      case 'failed':
        permit.failed()
        this.#lastFailure = outcome.error.message
        return outcome
      case 'aborted':
        // A caller may cancel long before the timeout, and the breaker must still notice a provider that hangs. So a
        // cancelled request counts as failed after a quarter of the timeout, which is half of the time that a search
        // waits.
        if (performance.now() - startedMs >= timeoutMs / 4) {
          permit.failed()
          this.#lastFailure = 'the embedding provider did not answer in time'
        } else permit.abandoned()
        return outcome
    }
  }

  /** The first usable answer fixes the dimensions. */
  #check(vectors: readonly Float32Array[]): Result[] {
    const dimensions = this.#dimensions ?? vectors[0]?.length ?? 0
    const results = vectors.map((vector) => normaliseVector(vector, dimensions))
    this.#dimensions = dimensions
    return results
  }
}
