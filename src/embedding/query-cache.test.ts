import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Callers } from '../fair-queue/callers.ts'
import { defaultCosines, type Embedder } from './embedder.ts'
import { abortedError, EmbeddingError } from './embedding-error.ts'
import { QueryCache } from './query-cache.ts'

/** Replies only when the test says so, and records the texts that it received. */
class HeldEmbedder implements Embedder {
  readonly model = 'held'
  readonly dimensions = 1
  readonly languages = null
  readonly cosines = defaultCosines
  readonly requests: {
    text: string
    signal: AbortSignal
    callers?: Callers | undefined
    answer: (vector: Float32Array) => void
    fail: () => void
  }[] = []
  readonly profileId: string

  constructor(profileId = 'held') {
    this.profileId = profileId
  }

  embed(texts: readonly string[], kind: string, signal?: AbortSignal, callers?: Callers): Promise<Float32Array[]> {
    assert.equal(kind, 'query')
    return new Promise((resolve, reject) => {
      signal!.addEventListener('abort', () => reject(abortedError()))
      const fail = (): void => reject(new EmbeddingError('unavailable', 'down'))
      this.requests.push({ text: texts[0]!, signal: signal!, callers, answer: (vector) => resolve([vector]), fail })
    })
  }

  async close(): Promise<void> {}
}

/** Replies at once with a number for each text it receives. */
class CountingEmbedder extends HeldEmbedder {
  override async embed(texts: readonly string[]): Promise<Float32Array[]> {
    this.requests.push({ text: texts[0]!, signal: new AbortController().signal, answer: () => {}, fail: () => {} })
    return [Float32Array.of(this.requests.length)]
  }
}

const aborted = (error: unknown): boolean => error instanceof EmbeddingError && error.code === 'aborted'

test('the same query at the same time is embedded once, and each caller has its own copy', async () => {
  const cache = new QueryCache()
  const embedder = new HeldEmbedder()
  const both = Promise.all([cache.embed(embedder, 'a'), cache.embed(embedder, 'a')])
  assert.equal(embedder.requests.length, 1)
  embedder.requests[0]!.answer(Float32Array.of(7))
  const [first, second] = await both
  first![0] = 0
  assert.equal(second![0], 7)
  assert.equal((await cache.embed(embedder, 'a'))[0], 7)
  assert.equal(embedder.requests.length, 1)
})

test('a caller whose query is waiting already joins it by name, once', async () => {
  const cache = new QueryCache()
  const embedder = new HeldEmbedder()
  const all = [cache.embed(embedder, 'a', undefined, 'first')]
  const joined: string[] = []
  embedder.requests[0]!.callers!.onJoin = (caller) => joined.push(caller)
  for (const caller of ['second', 'first', 'second', 'third']) all.push(cache.embed(embedder, 'a', undefined, caller))
  assert.deepEqual(joined, ['second', 'third'])
  assert.deepEqual(embedder.requests[0]!.callers!.ids, ['first', 'second', 'third'])
  assert.equal(embedder.requests.length, 1)
  embedder.requests[0]!.answer(Float32Array.of(7))
  await Promise.all(all)
})

test('profiles do not share vectors', async () => {
  const cache = new QueryCache()
  const [one, eleven] = [new CountingEmbedder('1'), new CountingEmbedder('11')]
  await cache.embed(one, '1a')
  await cache.embed(eleven, 'a')
  assert.equal(eleven.requests.length, 1)
})

test('a caller that cancels leaves the embedding to the others; when the last one cancels, it stops', async () => {
  const cache = new QueryCache()
  const embedder = new HeldEmbedder()
  const [impatient, patient] = [new AbortController(), new AbortController()]
  const first = cache.embed(embedder, 'a', impatient.signal)
  const second = cache.embed(embedder, 'a', patient.signal)
  impatient.abort()
  await assert.rejects(first, aborted)
  assert.ok(!embedder.requests[0]!.signal.aborted)
  patient.abort()
  await assert.rejects(second, aborted)
  assert.ok(embedder.requests[0]!.signal.aborted)
  const third = cache.embed(embedder, 'a')
  assert.equal(embedder.requests.length, 2)
  embedder.requests[1]!.answer(Float32Array.of(1))
  await third
  assert.equal(getEventListeners(patient.signal, 'abort').length, 0)
})

test('a failure reaches every waiting caller and is not cached', async () => {
  const cache = new QueryCache()
  const embedder = new HeldEmbedder()
  const waiting = [cache.embed(embedder, 'a'), cache.embed(embedder, 'a')]
  embedder.requests[0]!.fail()
  for (const result of await Promise.allSettled(waiting)) assert.equal(result.status, 'rejected')
  assert.equal(cache.size, 0)
  const again = cache.embed(embedder, 'a')
  embedder.requests[1]!.answer(Float32Array.of(1))
  await again
})

test('evicts the least recently used entry, as a plain list would', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...'abcdefgh'), { maxLength: 80 }), async (queries) => {
      const cache = new QueryCache({ entriesMax: 4 })
      const embedder = new CountingEmbedder()
      let recent: string[] = []
      let misses = 0
      for (const query of queries) {
        await cache.embed(embedder, query)
        if (!recent.includes(query)) misses++
        recent = [query, ...recent.filter((other) => other !== query)].slice(0, 4)
        assert.equal(cache.size, recent.length)
        assert.equal(embedder.requests.length, misses)
      }
    }),
  )
})

test('is bounded in bytes as well', async () => {
  const cache = new QueryCache({ bytesMax: 1_000 })
  const embedder = new CountingEmbedder()
  for (let i = 0; i < 50; i++) await cache.embed(embedder, `${i}`.padEnd(100))
  assert.ok(cache.size >= 1 && cache.size <= 4)
})
