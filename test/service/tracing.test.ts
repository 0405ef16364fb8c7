import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type AnalysisWorld, startAnalysisWorld } from '../acceptance/analysis-world.ts'
import { documentOf } from '../acceptance/content.ts'
import { FakeReranker } from '../acceptance/fake-reranker.ts'
import { type Answer, startServer, type TestServer } from '../acceptance/harness.ts'
import { readScrape } from '../support/scrape.ts'
import { attributesOf, namesInProtobuf, type SentSpan, TraceReceiver } from '../support/trace-receiver.ts'
import { until } from '../support/until.ts'

/** OpenTelemetry's numbers for the kinds of spans. */
const kinds = { internal: 1, server: 2, client: 3 }
const failed = 2

const parent = (traceId: string, flags = '01'): string => `00-${traceId}-${'cd'.repeat(8)}-${flags}`

const spansCounted = async (server: TestServer, outcome: string): Promise<number> => {
  const { samples } = readScrape((await server.admin('GET', '/metrics')).text)
  return samples.get(`tidemark_trace_spans_total{outcome="${outcome}"}`)!
}

const toldIn = ({ logs }: TestServer) => logs.filter(({ msg }) => /^spans of traces are dropped/.test(String(msg)))

describe('a server with a collector', () => {
  let receiver: TraceReceiver
  let reranker: FakeReranker
  let world: AnalysisWorld

  before(async () => {
    receiver = await new TraceReceiver().start()
    reranker = await new FakeReranker().start()
    const env = { ...receiver.env, ...reranker.env, OTEL_SERVICE_NAME: 'news-search', TIDEMARK_LOG_LEVEL: 'info' }
    world = await startAnalysisWorld({}, env)
    await world.put(
      documentOf('one', { title: 'Zymurgy table', body: 'Quokkas at noon.' }),
      documentOf('two', { title: 'Another table', body: 'Wombats at noon.' }),
    )
  })
  after(() => reranker.stop())

  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown): Promise<Answer> =>
    world.server.call(method, path, {
      headers: { authorization: `Bearer ${world.key}`, ...headers },
      ...(body === undefined ? {} : { body }),
    })

  /** The spans of a trace, once its first span has arrived, which is sent last. */
  const traced = async (traceId: string): Promise<SentSpan[]> => {
    const ofTrace = () => receiver.spans.filter((span) => span.traceId === traceId)
    await until(`the request of trace ${traceId} is sent`, () => ofTrace().some(({ kind }) => kind === kinds.server))
    return ofTrace()
  }

  /** Finds spans by the id of the request. */
  const requested = async (requestId: string): Promise<SentSpan> => {
    const find = () => receiver.spans.find((span) => attributesOf(span)['tidemark.request_id'] === requestId)
    await until(`request ${requestId} is sent`, () => find() !== undefined)
    return find()!
  }

  test('a hybrid search is one trace from its caller on, to the servers that it asks', async () => {
    const traceId = 'ab'.repeat(16)
    const traceparents = world.search.embedding.traceparents.length
    const body = { mode: 'hybrid', query: 'zymurgy quokkas' }
    const answer = await ask('POST', '/v1/search', { traceparent: parent(traceId), 'x-request-id': 'search-1' }, body)
    assert.equal(answer.status, 200, answer.text)
    const spans = await traced(traceId)

    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const pathOf = (span: SentSpan): string => {
      const above = byId.get(span.parentSpanId ?? '')
      return above === undefined ? span.name : `${pathOf(above)} > ${span.name}`
    }
    const paths = spans.map(pathOf)
    const root = 'POST /v1/search'
    for (const path of [
      root,
      `${root} > search parse`,
      `${root} > search embedding > embedding embed > HTTP POST`,
      `${root} > search queue`,
      `${root} > index keyword`,
      `${root} > index vector`,
      `${root} > search fuse > store searchTexts.rank`,
      `${root} > search rerank > HTTP POST`,
      `${root} > store searchTexts.present`,
    ]) {
      assert.ok(paths.includes(path), `${path} is not among\n${paths.join('\n')}`)
    }
    assert.ok(
      paths.every((path) => path.startsWith(root)),
      paths.join('\n'),
    )

    const request = spans.find(({ name }) => name === root)!
    assert.deepEqual([request.parentSpanId, request.kind], ['cd'.repeat(8), kinds.server])
    assert.deepEqual(attributesOf(request), {
      'http.request.method': 'POST',
      'http.route': '/v1/search',
      'http.response.status_code': 200,
      'tidemark.operation': 'search.default',
      'tidemark.request_id': 'search-1',
      'tidemark.search_mode': 'hybrid',
    })
    for (const span of spans) {
      assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name)
      assert.notEqual(span.status.code, failed, span.name)
    }
    const embedded = spans.find(({ name }) => name === 'embedding embed')!
    assert.deepEqual(attributesOf(embedded), {
      'tidemark.kind': 'query',
      'tidemark.model': 'fake/bag-of-words',
      'tidemark.texts': 1,
    })
    const sent = spans.find((span) => span.name === 'HTTP POST' && span.parentSpanId === embedded.spanId)!
    assert.equal(sent.kind, kinds.client)
    assert.deepEqual(world.search.embedding.traceparents.slice(traceparents), [`00-${traceId}-${sent.spanId}-01`])

    const logged = () => world.server.logs.find(({ reqId, msg }) => reqId === 'search-1' && msg === 'request')
    await until('the request is logged', () => logged() !== undefined)
    assert.equal(logged()!.trace_id, traceId)
  })

  test('the index is fed, and vectors are made, in traces of their own', async () => {
    const isWhole = (root: string, ...parts: string[]) =>
      until(`${root} is there with its parts`, () => {
        const begun = receiver.spans.find(({ name, parentSpanId }) => name === root && !parentSpanId)
        const below = receiver.spans.filter(({ traceId }) => traceId === begun?.traceId).map(({ name }) => name)
        return parts.every((part) => below.includes(part))
      })
    await isWhole('index feed', 'store indexSource.putChunks', 'index apply')
    await isWhole('vectors make', 'embedding embed', 'HTTP POST', 'store indexSource.putVectors', 'index apply')
    await world.succeeded({})
    await isWhole('analysis run', 'store analysis.inputRows', 'analysis compute', 'store analysis.endRun')
  })

  test('a read of the feed says how long it was held', async () => {
    const { body } = await ask('GET', '/v1/changes?start=latest')
    const traceId = 'ac'.repeat(16)
    const path = `/v1/changes?wait=0.2&cursor=${encodeURIComponent(body.next_cursor)}`
    assert.equal((await ask('GET', path, { traceparent: parent(traceId) })).status, 200)
    const names = (await traced(traceId)).map(({ name }) => name)
    assert.ok(names.includes('store changes.read') && names.includes('changes wait'), names.join(', '))
  })

  test('a route is told by its pattern, an address that is nothing here not at all, and neither is text, key or id', async () => {
    const found = await ask('POST', '/v1/search', {}, { mode: 'keyword', query: 'quokkas' })
    const { document_id: documentId } = found.body.results[0]
    await ask('GET', `/v1/documents/${documentId}`, { 'x-request-id': 'document-1' })
    await ask('GET', '/v1/kookaburra?query=quokkas', { 'x-request-id': 'nothing-1' })
    assert.equal((await requested('document-1')).name, 'GET /v1/documents/:document_id')
    const { name, status, attributes } = await requested('nothing-1')
    assert.equal(name, 'GET')
    assert.notEqual(status.code, failed)
    assert.deepEqual(attributesOf({ attributes }), {
      'error.type': 'not_found',
      'http.request.method': 'GET',
      'http.response.status_code': 404,
      'tidemark.operation': 'unknown',
      'tidemark.request_id': 'nothing-1',
    })
    const all = receiver.sent.map(({ bytes }) => bytes.toString()).join('\n')
    for (const secret of ['uokka', 'ymurgy', 'kookaburra', world.key, documentId]) {
      assert.ok(!all.includes(secret), `${secret} was sent`)
    }
  })

  test('a header that is no traceparent is ignored, and each request begins a trace of its own', async () => {
    const wrong = [
      'garbage',
      `00-${'0'.repeat(32)}-${'cd'.repeat(8)}-01`,
      `00-${'ab'.repeat(16)}-${'0'.repeat(16)}-01`,
      `ff-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
      `00-${'AB'.repeat(16)}-${'cd'.repeat(8)}-01`,
      `${parent('ab'.repeat(16))}, ${parent('ba'.repeat(16))}`,
      'x'.repeat(8000),
    ]
    const seen = new Set(['ab'.repeat(16), 'ba'.repeat(16)])
    for (const [i, traceparent] of wrong.entries()) {
      await ask('GET', '/v1/account', { traceparent, 'x-request-id': `wrong-${i}` })
      const { traceId, parentSpanId } = await requested(`wrong-${i}`)
      assert.ok(!parentSpanId, traceparent)
      assert.match(traceId, /^[0-9a-f]{32}$/)
      assert.ok(!seen.has(traceId), traceparent)
      seen.add(traceId)
    }
  })

  test('a caller whose trace nobody keeps costs no spans, and its trace goes on to other servers', async () => {
    const traceId = 'ad'.repeat(16)
    await ask('POST', '/v1/search', { traceparent: parent(traceId, '00') }, { mode: 'vector', query: 'unheard of' })
    assert.match(world.search.embedding.traceparents.at(-1)!, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
    await ask('GET', '/v1/account', { 'x-request-id': 'after-it' })
    await requested('after-it')
    assert.deepEqual(
      receiver.spans.filter((span) => span.traceId === traceId),
      [],
    )
  })

  test('a request by the tool of an agent is part of the request of the agent, whether that is kept or not', async () => {
    const call = { name: 'search', arguments: { query: 'quokkas' } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const accept = 'application/json, text/event-stream'
    const [kept, dropped] = ['af'.repeat(16), 'ba'.repeat(16)]
    for (const traceparent of [parent(dropped, '00'), parent(kept)]) {
      const headers = { traceparent, accept, 'x-request-id': `agent-${traceparent.slice(3, 5)}` }
      const answer = await ask('POST', '/mcp', headers, body)
      assert.equal(answer.status, 200, answer.text)
    }
    const find = () => receiver.spans.find(({ name, traceId }) => name === 'POST /mcp' && traceId === kept)
    await until('the request of the agent is sent', () => find() !== undefined)
    const asked = receiver.spans.find(({ name, traceId }) => name.startsWith('POST /v1/search') && traceId === kept)
    assert.equal(asked?.parentSpanId, find()!.spanId)
    assert.ok(!receiver.spans.some((span) => attributesOf(span)['tidemark.request_id'] === 'agent-ba'))
  })

  test('a failure is told by a code, and no probe or scrape is traced', async () => {
    world.search.embedding.behaviour = 'errors'
    const traceId = 'ae'.repeat(16)
    const { body } = await ask(
      'POST',
      '/v1/search',
      { traceparent: parent(traceId) },
      { mode: 'hybrid', query: 'not yet asked' },
    )
    world.search.embedding.recover()
    assert.equal(body.degraded, true)
    const spans = await traced(traceId)
    const fault = spans.find(({ name }) => name === 'embedding embed')!
    assert.deepEqual([fault.status, attributesOf(fault)['error.type']], [{ code: failed }, 'unavailable'])
    const asked = spans.find(({ name }) => name === 'HTTP POST')!
    assert.deepEqual([asked.status, attributesOf(asked)['error.type']], [{ code: failed }, '500'])
    const request = attributesOf(spans.find(({ kind }) => kind === kinds.server)!)
    assert.equal(request['tidemark.degraded'], 'vector_search_unavailable')

    assert.equal((await world.server.call('GET', '/healthz')).status, 200)
    assert.equal((await world.server.call('GET', '/readyz')).status, 200)
    await until('the scrape counts what was sent', async () => (await spansCounted(world.server, 'sent')) > 0)
    await ask('GET', '/v1/account', { 'x-request-id': 'after-probes' })
    await requested('after-probes')
    const names = new Set(receiver.spans.map(({ name }) => name))
    for (const path of ['/healthz', '/readyz', '/metrics']) assert.ok(!names.has(`GET ${path}`), path)
  })

  test('the process says who it is', () => {
    for (const { resource } of receiver.resources) {
      const said = attributesOf(resource)
      assert.equal(said['service.name'], 'news-search')
      assert.equal(said['process.pid'], world.server.pid)
    }
    assert.ok(receiver.sent.every(({ path }) => path === '/v1/traces'))
  })
})

test('nothing is sent where it is switched off', async () => {
  const receiver = await new TraceReceiver().start()
  const server = await startServer({ env: { ...receiver.env, OTEL_TRACES_EXPORTER: 'none' } })
  await server.admin('GET', '/admin/v1/datasets')
  assert.doesNotMatch((await server.admin('GET', '/metrics')).text, /tidemark_trace_spans_total/)
  assert.equal(await server.stop(), 0)
  assert.equal(receiver.sent.length, 0)
})

test('a collector that hangs costs bounded memory and no request: what has no room is dropped, and the end is in time', async () => {
  const receiver = await new TraceReceiver().start()
  receiver.behaviour = 'hangs'
  const server = await startServer({ env: { ...receiver.env, OTEL_BSP_MAX_QUEUE_SIZE: '8' } })
  for (let i = 0; i < 30; i++) assert.equal((await server.admin('GET', '/admin/v1/datasets')).status, 200)
  await until('spans without room are counted', async () => (await spansCounted(server, 'queue_full')) > 0)
  assert.equal(await server.stop(), 0)
  const told = toldIn(server)
  assert.match(String(told[0]?.reason), /spans arrive faster than the collector accepts them/)
  assert.ok(told.length <= 2, 'once in a minute, and at the end')
})

for (const [behaviour, reason] of [
  ['refuses', /answered|retryable/],
  ['is away', /ECONNREFUSED/],
] as const) {
  test(`a collector that ${behaviour} costs no request: spans that it does not take are counted, and mentioned once`, async () => {
    const receiver = await new TraceReceiver().start()
    receiver.behaviour = 'refuses'
    const address = behaviour === 'is away' ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } : {}
    // No time for a retry.
    const env = { ...receiver.env, ...address, OTEL_EXPORTER_OTLP_TIMEOUT: '200' }
    const server = await startServer({ env })
    const ask = async () => assert.equal((await server.admin('GET', '/admin/v1/datasets')).status, 200)
    await ask()
    await until('spans are counted', async () => (await spansCounted(server, 'not_sent')) > 0)
    const counted = await spansCounted(server, 'not_sent')
    await ask()
    await until('more spans are counted', async () => (await spansCounted(server, 'not_sent')) > counted)
    assert.equal(toldIn(server).length, 1)
    assert.match(String(toldIn(server)[0]!.reason), reason)
    assert.equal(await server.stop(), 0)
  })
}

for (const protocol of ['http/json', 'http/protobuf']) {
  test(`spans that a collector rejects of a batch that it takes are not counted as sent, and mentioned: ${protocol}`, async () => {
    const receiver = await new TraceReceiver().start()
    receiver.rejects = 1
    const server = await startServer({ env: { ...receiver.env, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } })
    const ask = async () => assert.equal((await server.admin('GET', '/admin/v1/datasets')).status, 200)
    await ask()
    await until('they are counted', async () => (await spansCounted(server, 'rejected')) > 0)
    await until('that is mentioned', () => toldIn(server).length > 0)
    assert.match(String(toldIn(server)[0]!.reason), /^the collector accepted the batch, but rejected these spans$/)
    assert.equal(await spansCounted(server, 'not_sent'), 0)
    // Each batch is told by its own answer.
    receiver.rejects = 0
    const rejected = receiver.sent.length
    const sent = await spansCounted(server, 'sent')
    await ask()
    await until('more are sent', async () => (await spansCounted(server, 'sent')) > sent)
    assert.equal(await spansCounted(server, 'rejected'), rejected)
    assert.equal(await server.stop(), 0)
  })
}

test('the end of the process sends what is left, in protobuf, compressed and with headers where that is wanted', async () => {
  const receiver = await new TraceReceiver().start()
  const server = await startServer({
    env: {
      ...receiver.env,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
      OTEL_BSP_SCHEDULE_DELAY: '600000',
    },
  })
  assert.equal((await server.admin('GET', '/admin/v1/datasets')).status, 200)
  assert.equal(receiver.sent.length, 0)
  assert.equal(await server.stop(), 0)
  const [sent] = receiver.sent
  assert.equal(sent?.headers['content-type'], 'application/x-protobuf')
  assert.equal(sent.headers['content-encoding'], 'gzip')
  assert.equal(sent.headers.authorization, 'Bearer of-the-collector')
  const names = namesInProtobuf(gunzipSync(sent.bytes))
  assert.ok(names.includes('GET /admin/v1/datasets'), names.join(', '))
})
