import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import type { Caller } from '../../fair-queue/caller.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { HttpCrossEncoder, type HttpCrossEncoderOptions } from './cross-encoder.ts'

interface Received {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: { readonly query: string; readonly documents: string[]; readonly top_n: number }
}

type Reply = (received: Received, response: ServerResponse) => void

class RerankServer {
  readonly received: Received[] = []
  readonly server = createServer((request, response) => void this.#handle(request, response))
  reply: Reply = byLength

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = JSON.parse(Buffer.concat(parts).toString()) as Received['body']
    const received = { path: request.url ?? '', authorization: request.headers.authorization, body }
    this.received.push(received)
    this.reply(received, response)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`
  }
}

/** Answers in the order of servers, best first: the score of a text is a hundredth of its length. */
function byLength({ body }: Received, response: ServerResponse): void {
  const results = body.documents
    .map((text, index) => ({ index, relevance_score: text.length / 100 }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
  response.end(JSON.stringify({ results }))
}

const answering =
  (answer: unknown): Reply =>
  (_, response) =>
    void response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))

async function start(
  t: TestContext,
  options: Partial<HttpCrossEncoderOptions> = {},
): Promise<{ server: RerankServer; encoder: HttpCrossEncoder }> {
  const server = new RerankServer()
  server.server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => {
    server.server.close()
    server.server.closeAllConnections()
  })
  const encoder = new HttpCrossEncoder({ url: server.url, timeoutMs: 2_000, ...options })
  return { server, encoder }
}

const unavailable = (message: RegExp) => (error: unknown) =>
  error instanceof UnavailableError && message.test(error.message)

test('scores have the order of the texts, whatever the order of the response', async (t) => {
  const { server, encoder } = await start(t)
  assert.deepEqual(await encoder.scores('which?', ['a', 'bbb', 'cc']), [0.01, 0.03, 0.02])
  const [{ path, authorization, body }] = server.received as [Received]
  assert.deepEqual(
    { path, authorization, body },
    {
      path: '/v1/rerank',
      authorization: undefined,
      body: { query: 'which?', documents: ['a', 'bbb', 'cc'], top_n: 3 },
    },
  )
})

test('a URL that ends in /rerank is used unchanged, and its query string is kept', async (t) => {
  const { server } = await start(t)
  await new HttpCrossEncoder({ url: `${server.url}/rerank?tenant=1`, timeoutMs: 2_000 }).scores('q', ['a'])
  assert.equal(server.received[0]!.path, '/v1/rerank?tenant=1')
})

test('does not call the server without texts', async (t) => {
  const { server, encoder } = await start(t)
  assert.deepEqual(await encoder.scores('q', []), [])
  assert.equal(server.received.length, 0)
})

test('scales logits to 0..1 in the same order', async (t) => {
  const { server, encoder } = await start(t)
  const logits = [-9.5, 3.25, 0]
  server.reply = answering({ results: logits.map((relevance_score, index) => ({ index, relevance_score })) })
  const scores = await encoder.scores('q', ['a', 'b', 'c'])
  assert.ok(scores!.every((score) => score > 0 && score < 1))
  assert.ok(scores![1]! > scores![2]! && scores![2]! > scores![0]!)
})

const good = (index: unknown, relevance_score: unknown = 0.5) => ({ index, relevance_score })
const wrong: Record<string, Reply> = {
  'HTTP 500': (_, response) => void response.writeHead(500).end('secret-query'),
  'HTTP 429': (_, response) => void response.writeHead(429).end(),
  'a redirect': (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:9/rerank' }).end(),
  'a cut connection': (_, response) => void response.destroy(),
  'something other than JSON': answering('<html>'),
  'an empty body': answering(''),
  null: answering('null'),
  'no results': answering({}),
  'results that are not a list': answering({ results: { 0: 1 } }),
  'too few results': answering({ results: [good(0)] }),
  'too many results': answering({ results: [good(0), good(1), good(1)] }),
  'an index twice': answering({ results: [good(0), good(0)] }),
  'an index outside the texts': answering({ results: [good(0), good(2)] }),
  'an index that is not a whole number': answering({ results: [good(0), good(0.5)] }),
  'an index that is a text': answering({ results: [good(0), good('length')] }),
  'a score of null, as NaN is written': answering({ results: [good(0), good(1, null)] }),
  'an infinite score': answering('{"results":[{"index":0,"relevance_score":1e999},{"index":1,"relevance_score":1}]}'),
  'a score that is a text': answering({ results: [good(0), good(1, '0.5')] }),
  'an endless response': (_, response) => {
    const timer = setInterval(() => response.write('x'.repeat(65_536)), 1)
    response.on('close', () => clearInterval(timer))
  },
}

for (const [name, reply] of Object.entries(wrong)) {
  test(`is unavailable on ${name}, and the reason quotes neither the query nor the texts`, async (t) => {
    const { server, encoder } = await start(t, { answerBytesMax: 100_000 })
    server.reply = reply
    await assert.rejects(encoder.scores('secret-query', ['secret-text', 'b']), (error) => {
      assert.ok(error instanceof UnavailableError)
      assert.doesNotMatch(inspect(error), /secret|127\.0\.0\.1/)
      return true
    })
    server.reply = byLength
    assert.deepEqual(await encoder.scores('q', ['a', 'bb']), [0.01, 0.02])
  })
}

test('stops waiting at the time limit if the server hangs before or during its response', async (t) => {
  const { server, encoder } = await start(t, { timeoutMs: 100 })
  for (const reply of [() => {}, (_: Received, response: ServerResponse) => void response.write('{"results"')]) {
    server.reply = reply
    const startedMs = performance.now()
    await assert.rejects(encoder.scores('q', ['a']), unavailable(/did not answer within 100 ms/))
    assert.ok(performance.now() - startedMs < 60_000)
  }
})

test('is unavailable if the server cannot be reached', async (t) => {
  const { server, encoder } = await start(t)
  server.server.close()
  await once(server.server, 'close')
  await assert.rejects(encoder.scores('q', ['a']), unavailable(/cannot be reached/))
})

test('the circuit breaker opens after failures in a row, and closes later', async (t) => {
  const { server, encoder } = await start(t, { failuresMax: 2, cooldownMs: 200 })
  server.reply = wrong['HTTP 500']!
  const reasons = [/HTTP 500/, /HTTP 500/, /not called for a while/, /not called for a while/, /not called for a while/]
  for (const reason of reasons) await assert.rejects(encoder.scores('q', ['a']), unavailable(reason))
  assert.equal(server.received.length, 2)
  server.reply = byLength
  await new Promise((resolve) => setTimeout(resolve, 250))
  assert.deepEqual(await encoder.scores('q', ['a']), [0.01])
})

const caller = (id: string, signal = new AbortController().signal): Caller => ({ id, signal })

const arrived = async (server: RerankServer, count: number): Promise<void> => {
  while (server.received.length < count) await new Promise((resolve) => setImmediate(resolve))
}

test('the first request of another caller does not wait for a busy caller', async (t) => {
  const { server, encoder } = await start(t, { timeoutMs: 60_000, requestsMax: 2 })
  const open: (() => void)[] = []
  server.reply = (received, response) => open.push(() => byLength(received, response))
  const crowd = Array.from({ length: 6 }, (_, i) => encoder.scores(`crowd ${i}`, ['a'], caller('crowd')))
  await arrived(server, 2)
  const own = encoder.scores('single', ['bb'], caller('single'))
  await arrived(server, 3)
  assert.equal(server.received[2]!.body.query, 'single')
  server.reply = byLength
  for (const reply of open) reply()
  assert.deepEqual([await own, ...(await Promise.all(crowd))], [[0.02], ...crowd.map(() => [0.01])])
})

test('a request that waited too long for its slot does not count as a failure of the server', async (t) => {
  const { server, encoder } = await start(t, { timeoutMs: 1_000, requestsMax: 1, failuresMax: 2 })
  server.reply = () => {}
  const crowd = Array.from({ length: 6 }, () => encoder.scores('q', ['a'], caller('crowd')))
  for (const one of await Promise.allSettled(crowd)) assert.equal(one.status, 'rejected')
  server.reply = byLength
  assert.deepEqual(await encoder.scores('q', ['a'], caller('crowd')), [0.01])
})

test('stops waiting if the client disconnects, and does not count it as a failure of the server', async (t) => {
  const { server, encoder } = await start(t, { timeoutMs: 60_000, failuresMax: 1 })
  server.reply = () => {}
  const controller = new AbortController()
  const left = encoder.scores('q', ['a'], caller('a', controller.signal))
  await arrived(server, 1)
  controller.abort()
  await assert.rejects(left, unavailable(/client disconnected/))
  server.reply = byLength
  assert.deepEqual(await encoder.scores('q', ['a'], caller('a')), [0.01])
})
