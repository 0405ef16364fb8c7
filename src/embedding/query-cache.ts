import { Callers } from '../turns/callers.ts'
import type { Embedder } from './embedder.ts'
import { abortedError } from './embedding-error.ts'

export interface QueryCacheOptions {
  readonly entriesMax?: number
  /** Vectors and texts together. */
  readonly bytesMax?: number
}

interface Flight {
  readonly promise: Promise<Float32Array>
  readonly controller: AbortController
  readonly callers: Callers
  waiters: number
}

/**
 * Remembers the vectors of queries, least recently used out first, for all profiles together; the same query asked
 * for by many at once is embedded once, in the turn of whichever caller comes first. A shared embedding goes on until the
 * last who waits for it has given up. Failures are not remembered. Callers get copies.
 */
export class QueryCache {
  readonly #entriesMax: number
  readonly #bytesMax: number
  /** A Map keeps the order of insertion: the first key is the one used longest ago. */
  readonly #entries = new Map<string, Float32Array>()
  readonly #flights = new Map<string, Flight>()
  #bytes = 0

  constructor(options: QueryCacheOptions = {}) {
    this.#entriesMax = options.entriesMax ?? 10_000
    this.#bytesMax = options.bytesMax ?? 64 * 1024 * 1024
  }

  get size(): number {
    return this.#entries.size
  }

  async embed(embedder: Embedder, text: string, signal?: AbortSignal, caller?: string): Promise<Float32Array> {
    if (signal?.aborted) throw abortedError()
    // The length in front keeps two pairs of profile and text from making one key.
    const key = `${embedder.profileId.length}:${embedder.profileId}${text}`
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known.slice()
    }
    const underWay = this.#flights.get(key)
    if (caller !== undefined) underWay?.callers.join(caller)
    const flight = underWay ?? this.#takeOff(key, embedder, text, new Callers(caller))
    flight.waiters++
    const vector = await this.#wait(key, flight, signal)
    return vector.slice()
  }

  async #wait(key: string, flight: Flight, signal: AbortSignal | undefined): Promise<Float32Array> {
    const { promise: givenUp, reject } = Promise.withResolvers<never>()
    const onAbort = (): void => reject(abortedError())
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([flight.promise, givenUp])
    } finally {
      signal?.removeEventListener('abort', onAbort)
      if (--flight.waiters === 0) {
        // Whoever asks from now on must not join what is being stopped.
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
        flight.controller.abort()
      }
    }
  }

  #takeOff(key: string, embedder: Embedder, text: string, callers: Callers): Flight {
    const controller = new AbortController()
    const promise = embedder.embed([text], 'query', controller.signal, callers).then(([vector]) => {
      this.#remember(key, vector!)
      return vector!
    })
    const flight = { promise, controller, callers, waiters: 0 }
    this.#flights.set(key, flight)
    // Also tells the runtime that a failure nobody waits for any more is no surprise.
    promise.catch(() => {}).finally(() => this.#flights.get(key) === flight && this.#flights.delete(key))
    return flight
  }

  #remember(key: string, vector: Float32Array): void {
    this.#forget(key)
    this.#entries.set(key, vector)
    this.#bytes += sizeOf(key, vector)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#entriesMax && this.#bytes <= this.#bytesMax) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    const vector = this.#entries.get(key)
    if (vector === undefined) return
    this.#entries.delete(key)
    this.#bytes -= sizeOf(key, vector)
  }
}

const sizeOf = (key: string, vector: Float32Array): number => key.length * 2 + vector.byteLength
