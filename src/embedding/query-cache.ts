import { LRUCache } from 'lru-cache'
import { Callers } from '../fair-queue/callers.ts'
import type { Embedder } from './embedder.ts'
import { abortedError } from './embedding-error.ts'

export interface QueryCacheOptions {
  readonly entriesMax?: number
  /** The bytes of vectors and texts together. */
  readonly bytesMax?: number
}

interface Flight {
  readonly promise: Promise<Float32Array>
  readonly controller: AbortController
  readonly callers: Callers
  waiters: number
}

/**
 * An LRU cache of query vectors for all profiles. Concurrent requests for the same query share one embedding, made when
 * the first of their callers is served. It is cancelled only when all of them have cancelled. Failures are not cached.
 * Callers get copies.
 */
export class QueryCache {
  readonly #entries: LRUCache<string, Float32Array>
  readonly #flights = new Map<string, Flight>()

  constructor(options: QueryCacheOptions = {}) {
    this.#entries = new LRUCache({
      max: options.entriesMax ?? 10_000,
      maxSize: options.bytesMax ?? 64 * 1024 * 1024,
      sizeCalculation: (vector, key) => key.length * 2 + vector.byteLength,
    })
  }

  get size(): number {
    return this.#entries.size
  }

  async embed(embedder: Embedder, text: string, signal?: AbortSignal, caller?: string): Promise<Float32Array> {
    if (signal?.aborted) throw abortedError()
    // The length prefix keeps two pairs of profile and text from having the same key.
    const key = `${embedder.profileId.length}:${embedder.profileId}${text}`
    const known = this.#entries.get(key)
    if (known !== undefined) return known.slice()
    const inFlight = this.#flights.get(key)
    if (caller !== undefined) inFlight?.callers.join(caller)
    const flight = inFlight ?? this.#start(key, embedder, text, new Callers(caller))
    flight.waiters++
    const vector = await this.#wait(key, flight, signal)
    return vector.slice()
  }

  async #wait(key: string, flight: Flight, signal: AbortSignal | undefined): Promise<Float32Array> {
    const { promise: cancelled, reject } = Promise.withResolvers<never>()
    const onAbort = (): void => reject(abortedError())
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([flight.promise, cancelled])
    } finally {
      signal?.removeEventListener('abort', onAbort)
      if (--flight.waiters === 0) {
        // Later requests must not join a cancelled embedding.
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
        flight.controller.abort()
      }
    }
  }

  #start(key: string, embedder: Embedder, text: string, callers: Callers): Flight {
    const controller = new AbortController()
    const promise = embedder.embed([text], 'query', controller.signal, callers).then(([vector]) => {
      this.#entries.set(key, vector!)
      return vector!
    })
    const flight = { promise, controller, callers, waiters: 0 }
    this.#flights.set(key, flight)
    // This also marks the rejection as handled if nobody waits for it any more.
    promise.catch(() => {}).finally(() => this.#flights.get(key) === flight && this.#flights.delete(key))
    return flight
  }
}
