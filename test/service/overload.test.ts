import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expectError } from '../acceptance/expect-error.ts'
import { FakeEmbedding } from '../acceptance/fake-embedding.ts'
import { HalfSent } from '../acceptance/half-sent.ts'
import { type Answer, startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

let server: TestServer
let embedding: FakeEmbedding
/** An application without a limit on concurrent requests, and another one. */
let key: string
let otherKey: string
let collectorKey: string

const permits = 4

before(async () => {
  embedding = await new FakeEmbedding().start()
  server = await startServer({
    env: { ...embedding.env, TIDEMARK_REQUESTS_IN_FLIGHT_MAX: String(permits), TIDEMARK_BODY_TIMEOUT_MS: '2000' },
  })
  await server.makeDataset('news')
  const entitlements = [{ datasets: ['news'] }]
  ;[{ key }, { key: otherKey }, { key: collectorKey }] = await Promise.all([
    server.makeApplication({ entitlements }),
    server.makeApplication({ entitlements }),
    server.makeCollector(),
  ])
  const documents = [{ dataset_id: 'news', source_platform: 'rss', external_id: 'a', body: 'High water at noon' }]
  await server.collector(collectorKey, 'POST', '/collector/v1/documents', { documents })
  await until('the vector is made', async () => embedding.texts.length > 0)
})
after(() => embedding.stop())

async function inFlight(): Promise<number> {
  const { text } = await server.admin('GET', '/metrics')
  return Number(/^tidemark_requests_in_flight (\d+)$/m.exec(text)![1])
}

const account = (credential: string): Promise<Answer> => server.consumer(credential, 'GET', '/v1/account')

/** All other callers are answered as usual. */
async function othersAreAnswered(): Promise<void> {
  assert.equal((await account(otherKey)).status, 200)
  assert.equal((await server.consumer(otherKey, 'POST', '/v1/search', { query: 'water' })).status, 200)
  assert.equal((await server.admin('GET', '/admin/v1/applications')).status, 200)
}

async function operatorsAreAnswered(): Promise<void> {
  assert.equal((await server.admin('GET', '/admin/v1/applications')).status, 200)
  assert.equal((await server.admin('GET', '/metrics')).status, 200)
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/']) {
    assert.equal((await server.call('GET', path)).status, 200, `${path} answers under load`)
  }
}

describe('work', () => {
  test('beyond the limit the answer is a 503 with Retry-After, operators get in, and it is over when the work is', async () => {
    embedding.behaviour = 'hangs'
    const asked = embedding.texts.length
    const searches = Array.from({ length: permits }, (_, i) =>
      server.consumer(key, 'POST', '/v1/search/vector', { query: `water ${i}` }),
    )
    await until('all are under way', async () => embedding.texts.length === asked + permits)
    const refused = await account(otherKey)
    await expectError(server, refused, 503, 'overloaded')
    assert.equal(refused.headers.get('retry-after'), '1')
    await operatorsAreAnswered()
    embedding.recover()
    for (const search of searches) assert.equal((await search).status, 200)
    await othersAreAnswered()
  })

  test('refused requests give back what they had', async () => {
    const { key: single } = await server.makeApplication({ policy: { max_in_flight: 1 } })
    for (let i = 0; i < 2 * permits; i++) {
      assert.equal((await account('garbage')).status, 401)
      assert.equal((await server.admin('POST', '/admin/v1/applications', '{')).status, 400)
      assert.equal((await server.consumer(single, 'POST', '/v1/search', { query: '' })).status, 400)
      assert.equal((await account(single)).status, 200)
    }
  })
})

describe('requests of one application', () => {
  test('slow bodies are in the way of nobody else, and are 408 in the end', async () => {
    const { key: slow } = await server.makeApplication({ policy: { max_in_flight: 32 } })
    const headers = 'Content-Type: application/json\r\nContent-Length: 100\r\n'
    const halves = Array.from({ length: 40 }, () =>
      HalfSent.post(server, '/v1/search', slow, `${headers}Connection: close\r\n`, '{"query":'),
    )
    const late = HalfSent.post(server, '/v1/search', otherKey, headers, '{"query":')
    await until('those over max_in_flight are refused', async () => {
      return halves.filter(({ received }) => received.includes('max_in_flight')).length === 8
    })
    await othersAreAnswered()
    await operatorsAreAnswered()
    const answers = await Promise.all([...halves, late].map((one) => one.answer()))
    const waited = answers.filter(({ status }) => status === 408)
    assert.equal(waited.length, 33)
    for (const answer of waited) {
      await expectError(server, answer, 408, 'request_timeout')
      assert.equal(answer.headers.get('connection'), 'close')
    }
    for (const answer of answers.filter(({ status }) => status !== 408)) {
      await expectError(server, answer, 429, 'rate_limit_exceeded')
      assert.match(answer.body.message, /^32 of your requests .*max_in_flight/)
    }
    assert.equal((await account(slow)).status, 200, 'it gets in again')
  })

  test('reads of the feed that wait count for their application, and only for it', async () => {
    const { key: waiting, applicationId } = await server.makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { max_in_flight: 3 },
    })
    const start = (await server.consumer(waiting, 'GET', '/v1/changes')).body.next_cursor
    const before = await inFlight()
    const polls = Array.from({ length: 3 }, () => HalfSent.get(server, `/v1/changes?cursor=${start}&wait=30`, waiting))
    await until('all three wait', async () => (await inFlight()) === before + 3)
    await expectError(server, await account(waiting), 429, 'rate_limit_exceeded')
    await othersAreAnswered()
    await server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy: { max_in_flight: 4 } })
    assert.equal((await account(waiting)).body.policy.max_in_flight, 4)
    for (const poll of polls) poll.abandon()
    await server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy: { max_in_flight: 1 } })
    await until('their places are free', async () => (await account(waiting)).status === 200)
  })

  test('requests behind one another on a connection that ends give their places back, begun or not', async () => {
    const { key: waiting } = await server.makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { max_in_flight: permits },
    })
    const start = (await server.consumer(waiting, 'GET', '/v1/changes')).body.next_cursor
    const one = `GET /v1/changes?cursor=${start}&wait=30 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${waiting}\r\n\r\n`
    const before = await inFlight()
    for (let i = 0; i < 3; i++) {
      const pipelined = new HalfSent(server, one.repeat(permits))
      await until('all wait', async () => (await inFlight()) === before + permits)
      await expectError(server, await account(waiting), 429, 'rate_limit_exceeded')
      pipelined.abandon()
      await until('all are gone', async () => (await inFlight()) === before)
      assert.equal((await account(waiting)).status, 200)
    }
  })
})

describe('streams of lines', () => {
  const headers = 'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n'
  const stream = (): HalfSent => HalfSent.post(server, '/collector/v1/documents', collectorKey, headers, '')
  const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
  const line = (id: string): string =>
    `${JSON.stringify({ dataset_id: 'news', source_platform: 'rss', external_id: id, title: id })}\n`

  test('have a share of their own, taken when they begin; one that stands still is cut off, and what it sent is kept', async () => {
    const silent = stream()
    const held = stream()
    held.send(chunk(line('held')))
    await until('the first line is answered', async () => held.received.includes('"outcome":"created"'))
    const refused = stream()
    refused.send(chunk(line('refused')))
    await until('the second stream is refused', async () => refused.received.includes('overloaded'))
    await othersAreAnswered()
    const documents = [{ dataset_id: 'news', source_platform: 'rss', external_id: 'b', title: 'b' }]
    assert.equal((await server.collector(collectorKey, 'POST', '/collector/v1/documents', { documents })).status, 200)
    await expectError(server, await silent.answer(), 408, 'request_timeout')
    await held.closed
    assert.match(held.received, /^HTTP\/1.1 200 /)
    assert.ok(!held.received.includes(']}'), 'the answer does not look whole')
    await until('the log tells that it was slow', async () => {
      return server.logs.some(({ operation, status }) => operation === 'collector.documents' && status === 408)
    })
    const next = stream()
    next.send(`${chunk(line('next'))}0\r\n\r\n`)
    await until('there is room for the next', async () => next.received.includes(']}'))
    next.abandon()
    const again = { documents: [JSON.parse(line('held')), JSON.parse(line('next'))] }
    const { results } = (await server.collector(collectorKey, 'POST', '/collector/v1/documents', again)).body
    assert.deepEqual(
      results.map(({ outcome }: { outcome: string }) => outcome),
      ['unchanged', 'unchanged'],
    )
  })

  test('a stream that goes on is not cut off, however slowly', async () => {
    const slow = stream()
    for (let i = 0; i < 6; i++) {
      slow.send(chunk(line(`slow-${i}`)))
      await until(`line ${i} is answered`, async () => slow.received.includes(`"index":${i}`))
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    slow.send('0\r\n\r\n')
    await until('the answer is whole', async () => slow.received.includes(']}'))
    slow.abandon()
  })
})

test('there are so many connections and no more, and room for the next when one ends', async (t) => {
  const small = await startServer({ env: { TIDEMARK_CONNECTIONS_MAX: '2' } })
  t.after(() => small.kill9())
  const answered = async (): Promise<HalfSent> => {
    const one = new HalfSent(small, 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n')
    await until('it is answered', async () => one.received.includes('200 OK'))
    return one
  }
  const [first] = [await answered(), await answered()]
  const third = new HalfSent(small, 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n')
  await third.closed
  assert.equal(third.received, '')
  first.abandon()
  await first.closed
  await until('there is room again', async () => {
    const next = new HalfSent(small, 'GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
    await next.closed
    return next.received.includes('200 OK')
  })
})

test('a client that goes away in the middle is told apart from an error, in the log and in the metrics', async () => {
  const headers = 'Content-Type: application/json\r\nContent-Length: 100\r\n'
  const told = `${headers}X-Request-Id: went-away\r\nExpect: 100-continue\r\n`
  const gone = HalfSent.post(server, '/v1/search/hybrid', key, told, '{"query":')
  await until('it is under way', async () => gone.received.includes('100 Continue'))
  gone.abandon()
  const logged = () => server.logs.find(({ reqId }) => reqId === 'went-away')
  await until('it is logged', async () => logged() !== undefined)
  const { status, aborted, level } = logged()!
  assert.deepEqual({ status, aborted, level }, { status: 499, aborted: true, level: 30 })
  const { text } = await server.admin('GET', '/metrics')
  assert.match(text, /^tidemark_http_request_seconds_count\{operation="search.hybrid",status="499"\} 1$/m)
})
