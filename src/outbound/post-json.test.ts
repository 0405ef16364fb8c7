import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { type PostBounds, postJson } from './post-json.ts'

let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {}
const server = createServer((request, response) => answer(request, response))
let url: URL
before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/path?query=kept`)
})
after(() => {
  server.closeAllConnections()
  server.close()
})

const bounds: PostBounds = { timeoutMs: 60_000, answerBytesMax: 1_000 }
const post = (more: Partial<PostBounds> = {}) => postJson(url, { a: 1 }, { ...bounds, ...more })
const answerWith = (status: number, body: string, headers: Record<string, string> = {}): void => {
  answer = (_request, response) => response.writeHead(status, headers).end(body)
}

test('sends JSON with the given headers, and reads the response', async () => {
  const seen = Promise.withResolvers<unknown[]>()
  answer = async (request, response) => {
    const { method, headers } = request
    seen.resolve([method, request.url, headers['content-type'], headers.authorization, await text(request)])
    response.end('\ufeff{"b":2}')
  }
  const posted = await post({ headers: { authorization: 'Bearer key' } })
  assert.deepEqual(posted, { outcome: 'answered', status: 200, text: '{"b":2}', retryAfterMs: null })
  assert.deepEqual(await seen.promise, ['POST', '/path?query=kept', 'application/json', 'Bearer key', '{"a":1}'])
})

test('an error response has its status and the time to retry; its body is only read on request', async () => {
  answerWith(429, 'your key is 123', { 'retry-after': '7' })
  assert.deepEqual(await post(), { outcome: 'answered', status: 429, text: '', retryAfterMs: 7_000 })
  const read = await post({ readsRefusals: true })
  assert.ok(read.outcome === 'answered' && read.text === 'your key is 123')
})

test('no redirect is followed', async () => {
  let requests = 0
  answer = (_request, response) => {
    requests++
    response.writeHead(307, { location: '/elsewhere' }).end()
  }
  const posted = await post()
  assert.ok(posted.outcome === 'answered' && posted.status === 307)
  assert.equal(requests, 1)
})

test('a response above the size limit is abandoned, even if it is an error', async () => {
  for (const status of [200, 500]) {
    answerWith(status, 'x'.repeat(1_001))
    assert.deepEqual(await post({ readsRefusals: true }), { outcome: 'too_large' })
  }
  answerWith(200, 'x'.repeat(1_000))
  assert.equal((await post()).outcome, 'answered')
})

test('a server that does not respond, or does not complete its response, is late', async () => {
  answer = () => {}
  assert.deepEqual(await post({ timeoutMs: 50 }), { outcome: 'late' })
  answer = (_request, response) => void response.writeHead(200).write('{')
  assert.deepEqual(await post({ timeoutMs: 50 }), { outcome: 'late' })
})

test('a cancelled request is aborted at any stage, and leaves no listener on the signal', async () => {
  const controller = new AbortController()
  answer = () => controller.abort()
  assert.deepEqual(await post({ signal: controller.signal }), { outcome: 'aborted' })
  assert.deepEqual(await post({ signal: controller.signal }), { outcome: 'aborted' })
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

test("a failed connection reports only the system's code", async () => {
  const closed = createServer()
  await once(closed.listen(0, '127.0.0.1'), 'listening')
  const unused = new URL(`http://127.0.0.1:${(closed.address() as AddressInfo).port}`)
  await new Promise((resolve) => closed.close(resolve))
  assert.deepEqual(await postJson(unused, {}, bounds), { outcome: 'unreachable', code: 'ECONNREFUSED' })
  answer = (request) => request.socket.destroy()
  const lost = await post()
  assert.equal(lost.outcome, 'unreachable')
})
