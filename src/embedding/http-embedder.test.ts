import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { Callers } from '../fair-queue/callers.ts'
import type { EmbeddingErrorCode } from './embedding-error.ts'
import { EmbeddingError } from './embedding-error.ts'
import type { HttpEmbedderOptions } from './http-embedder.ts'
import { HttpEmbedder } from './http-embedder.ts'

const key = 'sk-secret-0123456789'

interface Received {
  readonly path: string
  readonly authorization: string | undefined
  readonly model: string
  readonly input: string[]
}

type Reply = (request: Received, response: ServerResponse) => void

/** A provider whose replies can be changed at any time. */
class Provider {
  readonly received: Received[] = []
  readonly server = createServer((request, response) => void this.#handle(request, response))
  reply: Reply = answer

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { model, input } = JSON.parse(Buffer.concat(parts).toString()) as { model: string; input: string[] }
    const received = { path: request.url ?? '', authorization: request.headers.authorization, model, input }
    this.received.push(received)
    this.server.emit('received')
    this.reply(received, response)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`
  }
}

/** The vector of a text is its length and 1, so that the order can be checked. */
function vectorOf(text: string): number[] {
  return [text.length, 1, 0]
}

function answer(request: Received, response: ServerResponse): void {
  const data = request.input.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) }))
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ object: 'list', data, model: request.model }))
}

function status(code: number, headers: Record<string, string> = {}): Reply {
  return (_, response) => void response.writeHead(code, headers).end(`{"error": "no ${key}"}`)
}

const body =
  (text: string): Reply =>
  (_, response) =>
    void response.end(text)

const hang: Reply = () => {}

async function setUp(
  t: TestContext,
  options: Partial<HttpEmbedderOptions> = {},
): Promise<{ provider: Provider; embedder: HttpEmbedder }> {
  const provider = new Provider()
  provider.server.listen(0, '127.0.0.1')
  await once(provider.server, 'listening')
  const embedder = new HttpEmbedder({
    profileId: 'test',
    url: provider.url,
    model: 'test-model',
    key,
    retryDelayMs: 1,
    retryDelayMaxMs: 1_500,
    breakerFailuresMax: 100,
    ...options,
  })
  t.after(async () => {
    await embedder.close()
    provider.server.closeAllConnections()
    provider.server.close()
  })
  return { provider, embedder }
}

function fails(code: EmbeddingErrorCode, more: (error: EmbeddingError) => void = () => {}) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof EmbeddingError, String(error))
    assert.equal(error.code, code, error.message)
    assert.ok(!inspect(error, { depth: null, showHidden: true }).includes(key))
    more(error)
    return true
  }
}

const firsts = (vectors: readonly Float32Array[]): number[] => vectors.map((v) => Math.round(v[0]! / v[1]!))

test('sends the model, the texts and the key, and learns the dimensions', async (t) => {
  const { provider, embedder } = await setUp(t, { queryPrefix: 'query: ' })
  assert.equal(embedder.dimensions, null)
  const vectors = await embedder.embed(['a', 'bcd'], 'passage')
  assert.deepEqual(firsts(vectors), [1, 3])
  assert.ok(Math.abs(Math.hypot(...vectors[1]!) - 1) < 1e-6)
  assert.equal(embedder.dimensions, 3)
  const authorization = `Bearer ${key}`
  assert.deepEqual(provider.received, [
    { path: '/v1/embeddings', authorization, model: 'test-model', input: ['a', 'bcd'] },
  ])
  await embedder.embed(['a'], 'query')
  assert.deepEqual(provider.received[1]!.input, ['query: a'])
  assert.deepEqual(await embedder.embed([], 'query'), [])
})

test('adds /embeddings to a base, and takes an address that ends in it as it is', async (t) => {
  const { provider } = await setUp(t)
  const base = provider.url
  for (const suffix of ['', '/', '/embeddings', '/embeddings/', '?api-version=1', '/embeddings?api-version=1']) {
    const embedder = new HttpEmbedder({ profileId: 'p', url: base + suffix, model: 'm' })
    await embedder.embed(['a'], 'query')
  }
  const paths = provider.received.map(({ path }) => path)
  const query = '/v1/embeddings?api-version=1'
  const plain = '/v1/embeddings'
  assert.deepEqual(paths, [plain, plain, plain, plain, query, query])
  assert.equal(provider.received[0]!.authorization, undefined)
})

test('refuses an address or a key that it could not use, without repeating it', () => {
  const make = (options: Partial<HttpEmbedderOptions>) => () =>
    new HttpEmbedder({ profileId: 'p', url: 'http://localhost', model: 'm', ...options })
  for (const url of ['', 'localhost:80', 'file:///etc/passwd', `http://u:${key}@localhost`]) {
    assert.throws(make({ url }), fails('misconfigured'))
  }
  for (const wrong of [`${key}\n`, `a ${key}`, `${key}é`, ''])
    assert.throws(make({ key: wrong }), fails('misconfigured'))
})

test('cuts a call into batches, by count and by characters, and keeps the order', async (t) => {
  const { provider, embedder } = await setUp(t, { batchTextsMax: 3, batchCharsMax: 20, requestsMax: 3 })
  const texts = Array.from({ length: 25 }, (_, i) => 'x'.repeat(i + 1))
  assert.deepEqual(
    firsts(await embedder.embed(texts, 'passage')),
    texts.map(({ length }) => length),
  )
  for (const { input } of provider.received) {
    assert.ok(input.length === 1 || (input.length <= 3 && input.join('').length <= 20))
  }
})

test('puts vectors that come in another order with their texts', async (t) => {
  const { provider, embedder } = await setUp(t)
  provider.reply = ({ input }, response) => {
    const data = input.map((text, index) => ({ index, embedding: vectorOf(text) })).reverse()
    response.end(JSON.stringify({ data }))
  }
  assert.deepEqual(firsts(await embedder.embed(['a', 'bb', 'ccc'], 'passage')), [1, 2, 3])
})

test('retries after 408, 429, 5xx and a lost connection', async (t) => {
  const { provider, embedder } = await setUp(t)
  const troubles: Reply[] = [
    status(408),
    status(429),
    status(500),
    status(503),
    (_, response) => response.destroy(),
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"data"', () => response.destroy())
    },
  ]
  for (const trouble of troubles) {
    let failures = 2
    provider.reply = (request, response) => (failures-- > 0 ? trouble : answer)(request, response)
    assert.deepEqual(firsts(await embedder.embed(['abc'], 'query')), [3])
  }
  assert.equal(provider.received.length, troubles.length * 3)
})

test('a request in progress is never cancelled for a retry', async (t) => {
  for (const kind of ['query', 'passage'] as const) {
    const { provider, embedder } = await setUp(t, { [`${kind}TimeoutMs`]: 1000 })
    provider.reply = hang
    await assert.rejects(embedder.embed(['a'], kind), fails('timed_out'))
    assert.equal(provider.received.length, 1, kind)
  }
})

test('fails after the last attempt', async (t) => {
  const { provider, embedder } = await setUp(t)
  provider.reply = status(500)
  await assert.rejects(
    embedder.embed(['a'], 'query'),
    fails('unavailable', (error) => assert.ok(error.retryable && error.message.includes('500'))),
  )
  assert.equal(provider.received.length, 3)
})

test('waits as long as a Retry-After says, or fails at once if that is too long', async (t) => {
  const { provider, embedder } = await setUp(t)
  let failures = 1
  provider.reply = (request, response) =>
    (failures-- > 0 ? status(429, { 'retry-after': '1' }) : answer)(request, response)
  const startedMs = performance.now()
  await embedder.embed(['a'], 'query')
  assert.ok(performance.now() - startedMs >= 990)

  provider.reply = status(429, { 'retry-after': '60' })
  await assert.rejects(
    embedder.embed(['a'], 'query'),
    fails('unavailable', (error) => assert.equal(error.retryAfterMs, 60_000)),
  )
  assert.equal(provider.received.length, 3)
})

test('does not retry permanent errors', async (t) => {
  const { provider, embedder } = await setUp(t)
  for (const code of [301, 302, 307, 401, 403, 404, 410]) {
    provider.received.length = 0
    provider.reply = status(code, { location: 'http://127.0.0.1:9/elsewhere' })
    await assert.rejects(
      embedder.embed(['a'], 'query'),
      fails('misconfigured', (error) => {
        assert.equal(error.retryable, false)
        // An address without its path is the usual reason.
        assert.equal(error.message.includes('the right path, usually /v1'), code === 404)
      }),
    )
    assert.equal(provider.received.length, 1)
  }
})

test('follows no redirect, so the key stays with the host it is for', async (t) => {
  const { provider, embedder } = await setUp(t)
  const { provider: other } = await setUp(t)
  provider.reply = status(307, { location: `${other.url}/embeddings` })
  await assert.rejects(embedder.embed(['a'], 'query'), fails('misconfigured'))
  assert.equal(other.received.length, 0)
})

test('refuses answers that are not vectors for these texts', async (t) => {
  const { provider, embedder } = await setUp(t, { answerBytesMax: 10_000 })
  const data = (embedding: unknown): Reply => body(JSON.stringify({ data: [{ index: 0, embedding }] }))
  const endless: Reply = (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(4_096)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }
  const bad: Reply[] = [
    body('<html>'),
    body('{"data": [{"index": 0, "embedding": [1, 2'),
    body('{"data": [{"index": 0, "embedding": [NaN, 1, 1]}]}'),
    body('{"data": [{"index": 0, "embedding": [1e999, 1, 1]}]}'),
    body('{"data": [{"embedding": [1, 1, 1]}]}'),
    body('{"data": []}'),
    data([null, 1, 1]),
    data([1e39, 1, 1]),
    data(Array(10_000).fill(0.25)),
    endless,
  ]
  for (const reply of bad) {
    provider.received.length = 0
    provider.reply = reply
    await assert.rejects(embedder.embed(['a'], 'query'), fails('bad_answer'))
    assert.equal(provider.received.length, 1)
  }
  assert.equal(embedder.dimensions, null)
})

test('keeps to its dimensions, learnt or configured', async (t) => {
  const { provider, embedder } = await setUp(t)
  await embedder.embed(['a'], 'query')
  provider.reply = body('{"data": [{"index": 0, "embedding": [1, 2]}]}')
  await assert.rejects(embedder.embed(['a'], 'query'), fails('wrong_dimensions'))
  assert.equal(embedder.dimensions, 3)

  provider.reply = body('{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}')
  const fresh = new HttpEmbedder({ profileId: 'p', url: provider.url, model: 'm' })
  await assert.rejects(fresh.embed(['a', 'b'], 'query'), fails('wrong_dimensions'))
  assert.equal(fresh.dimensions, null)

  const configured = new HttpEmbedder({ profileId: 'p', url: provider.url, model: 'm', dimensions: 5 })
  provider.reply = answer
  await assert.rejects(configured.embed(['a'], 'query'), fails('wrong_dimensions'))
})

test('names the texts that got a vector of zeros', async (t) => {
  const { provider, embedder } = await setUp(t, { batchTextsMax: 2 })
  provider.reply = ({ input }, response) => {
    const data = input.map((text, index) => ({ index, embedding: text === 'zero' ? [0, 0, 0] : [1, 0, 0] }))
    response.end(JSON.stringify({ data }))
  }
  await assert.rejects(
    embedder.embed(['a', 'b', 'c', 'zero', 'zero'], 'passage'),
    fails('unusable_vector', (error) => assert.deepEqual(error.textIndexes, [3, 4])),
  )
})

test('finds the texts that a provider refuses, whichever they are', async (t) => {
  const { provider, embedder } = await setUp(t, { batchTextsMax: 8 })
  const refuse =
    (code: number): Reply =>
    (request, response) =>
      (request.input.includes('poison') ? status(code) : answer)(request, response)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 20 }),
      fc.constantFrom(400, 413, 422),
      async (poison, code) => {
        provider.reply = refuse(code)
        const texts = poison.map((bad) => (bad ? 'poison' : 'fine'))
        const textIndexes = [...poison.keys()].filter((index) => poison[index])
        const call = embedder.embed(texts, 'passage')
        if (textIndexes.length === 0) assert.equal((await call).length, texts.length)
        else
          await assert.rejects(
            call,
            fails('rejected_text', (e) => assert.deepEqual(e.textIndexes, textIndexes)),
          )
      },
    ),
    { numRuns: 40 },
  )
})

test('a provider that refuses everything is misconfigured: no text is blamed', async (t) => {
  const { provider, embedder } = await setUp(t)
  provider.reply = status(400)
  await assert.rejects(
    embedder.embed(['a', 'b', 'c', 'd'], 'passage'),
    fails('misconfigured', (error) => assert.deepEqual(error.textIndexes, [])),
  )
  assert.equal(provider.received.length, 2)
})

test('no text can break a request', async (t) => {
  const { provider, embedder } = await setUp(t)
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 50 }), fc.constant('\ud800'), fc.constant('\udc00x'))
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (texts) => {
      await embedder.embed(texts, 'passage')
      assert.deepEqual(
        provider.received.at(-1)!.input,
        texts.map((t) => t.toWellFormed()),
      )
    }),
    { numRuns: 50 },
  )
})

test('rejects at once when the caller cancels: during a request, in a pause, or before', async (t) => {
  const { provider, embedder } = await setUp(t, { retryDelayMs: 1_000, retryDelayMaxMs: 60_000 })
  for (const reply of [hang, status(503, { 'retry-after': '30' })]) {
    provider.reply = reply
    const controller = new AbortController()
    const call = embedder.embed(['a'], 'query', controller.signal)
    await once(provider.server, 'received')
    setImmediate(() => controller.abort())
    const startedMs = performance.now()
    await assert.rejects(call, fails('aborted'))
    assert.ok(performance.now() - startedMs < 20_000)
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
    await assert.rejects(embedder.embed(['a'], 'query', controller.signal), fails('aborted'))
  }
})

test('closing ends requests in progress', async (t) => {
  const { provider, embedder } = await setUp(t)
  provider.reply = hang
  const call = embedder.embed(['a'], 'query')
  await Promise.all([
    assert.rejects(call, fails('closed')),
    once(provider.server, 'received').then(() => embedder.close()),
  ])
  await assert.rejects(embedder.embed(['a'], 'query'), fails('closed'))
})

test('a provider that hangs costs each caller one timeout, then nothing; when it is back, vectors are made again', async (t) => {
  const options = { queryTimeoutMs: 30, attemptsMax: 1, breakerFailuresMax: 3, breakerCooldownMs: 600 }
  const { provider, embedder } = await setUp(t, options)
  provider.reply = hang
  for (let i = 0; i < 3; i++) await assert.rejects(embedder.embed(['a'], 'query'), fails('timed_out'))
  await assert.rejects(
    embedder.embed(['a'], 'query'),
    fails('unavailable', (error) => assert.ok(error.retryAfterMs! <= 600 && error.message.includes('did not answer'))),
  )
  assert.equal(provider.received.length, 3)

  provider.reply = answer
  await until(() => embedder.embed(['abc'], 'query'))
  assert.deepEqual(firsts(await embedder.embed(['abc', 'd'], 'passage')), [3, 1])
})

test('callers that cancel before the timeout open the circuit too', async (t) => {
  const timeoutMs = 20_000
  const { provider, embedder } = await setUp(t, { queryTimeoutMs: timeoutMs, attemptsMax: 1, breakerFailuresMax: 2 })
  const now = performance.now.bind(performance)
  for (let i = 0; i < 2; i++) {
    const caller = new AbortController()
    // By the clock, it has waited for more than a quarter of the timeout when it is cancelled.
    provider.reply = () => {
      t.mock.method(performance, 'now', () => now() + (i + 1) * 0.3 * timeoutMs)
      caller.abort()
    }
    await assert.rejects(embedder.embed(['a'], 'query', caller.signal), fails('aborted'))
  }
  await assert.rejects(embedder.embed(['a'], 'query'), fails('unavailable'))
  assert.equal(provider.received.length, 2)
})

test('works once a provider appears that was not there at the start', async (t) => {
  const { provider: gone } = await setUp(t)
  const { port } = gone.server.address() as AddressInfo
  gone.server.close()
  await once(gone.server, 'close')
  const embedder = new HttpEmbedder({
    profileId: 'p',
    url: `http://127.0.0.1:${port}/v1`,
    model: 'm',
    retryDelayMs: 1,
    breakerFailuresMax: 2,
    breakerCooldownMs: 20,
  })
  t.after(() => embedder.close())
  await assert.rejects(
    embedder.embed(['a'], 'query'),
    fails('unavailable', (error) => assert.ok(error.message.includes('ECONNREFUSED'))),
  )
  const back = new Provider()
  back.server.listen(port, '127.0.0.1')
  t.after(() => {
    back.server.closeAllConnections()
    back.server.close()
  })
  await once(back.server, 'listening')
  await until(() => embedder.embed(['a'], 'query'))
  assert.equal(embedder.dimensions, 3)
})

test('bad answers open the circuit like missing ones, and good ones close it', async (t) => {
  const { provider, embedder } = await setUp(t, { dimensions: 3, breakerFailuresMax: 2, breakerCooldownMs: 300 })
  provider.reply = body('{"data": [{"index": 0, "embedding": [1]}]}')
  for (let i = 0; i < 2; i++) await assert.rejects(embedder.embed(['a'], 'query'), fails('wrong_dimensions'))
  await assert.rejects(embedder.embed(['a'], 'query'), fails('unavailable'))
  provider.reply = answer
  await until(() => embedder.embed(['a'], 'query'))
})

test('never reveals its key', async (t) => {
  const { embedder } = await setUp(t)
  assert.ok(!inspect(embedder, { depth: null, showHidden: true, getters: true }).includes(key))
  assert.ok(!JSON.stringify(embedder).includes(key))
})

/** Calls until it succeeds; the circuit breaker decides when that is. */
async function until(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      assert.ok(error instanceof EmbeddingError && error.retryable, String(error))
      const waitMs = error.retryAfterMs ?? 1
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}

test('further queries of a caller wait in the queue, and leave it when cancelled; the first of another caller does not wait', async (t) => {
  const { provider, embedder } = await setUp(t, { queriesMax: 2 })
  const open: (() => void)[] = []
  provider.reply = (request, response) => {
    if (request.input[0] === 'passage') answer(request, response)
    else open.push(() => answer(request, response))
  }
  const sent = (): string[] => provider.received.map(({ input }) => input[0]!)
  const arrived = async (count: number): Promise<void> => {
    while (provider.received.length < count) await once(provider.server, 'received')
  }
  const ask = (text: string, callers: Callers, signal?: AbortSignal) => embedder.embed([text], 'query', signal, callers)
  const controller = new AbortController()
  const shared = new Callers('a')
  const all = ['a1', 'a2', 'a3', 'a4'].map((text) => ask(text, new Callers('a')))
  all.push(ask('shared', shared))
  const cancelled = ask('cancelled', new Callers('a'), controller.signal)
  await arrived(2)
  // Passages do not wait for queries.
  await embedder.embed(['passage'], 'passage')
  all.push(ask('b1', new Callers('b')))
  await arrived(4)
  shared.join('c')
  await arrived(5)
  assert.deepEqual(
    [sent().slice(0, 2).sort(), sent().slice(2)],
    [
      ['a1', 'a2'],
      ['passage', 'b1', 'shared'],
    ],
  )
  controller.abort()
  await assert.rejects(cancelled, fails('aborted'))
  for (const reply of open.splice(0)) reply()
  await arrived(7)
  for (const reply of open) reply()
  await Promise.all(all)
  assert.deepEqual(sent().slice(5).sort(), ['a3', 'a4'])
})

test('closing fails the queries that wait', async (t) => {
  const { provider, embedder } = await setUp(t, { queriesMax: 1 })
  provider.reply = hang
  const all = ['a', 'b', 'c'].map((text) => assert.rejects(embedder.embed([text], 'query'), fails('closed')))
  await once(provider.server, 'received')
  await embedder.close()
  await Promise.all(all)
  assert.equal(provider.received.length, 1)
})
