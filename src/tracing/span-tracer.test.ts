import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, beforeEach, test } from 'node:test'
import { SpanStatusCode } from '@opentelemetry/api'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { UnavailableError } from '../platform/errors.ts'
import { ClusterNode } from '../storage/opensearch/cluster-node.ts'
import { SpanTracer } from './span-tracer.ts'
import { traceOutbound } from './trace-outbound.ts'

let ended: ReadableSpan[] = []
const provider = new TracerProvider({
  spanProcessors: [
    {
      onStart: () => {},
      onEnd: (span) => void ended.push(span),
      forceFlush: async () => {},
      shutdown: async () => {},
    },
  ],
})
const tracer = new SpanTracer(provider, true)
const stopOutbound = traceOutbound(tracer)
after(() => stopOutbound())

const spanCalled = (name: string) => ended.find((span) => span.name === name)!

beforeEach(() => {
  ended = []
})
afterEach(() => assert.equal(tracer.current, undefined))

test('a trace has a limited number of spans, and records how many were omitted', () => {
  tracer.span('export', () => {
    for (let i = 0; i < 1500; i++)
      assert.equal(
        tracer.childSpan('read', () => i),
        i,
      )
  })
  assert.equal(ended.length, 1000)
  assert.equal(spanCalled('export').attributes['tidemark.spans_omitted'], 501)
})

test('a timer that was set in a trace is not a part of it after the trace has ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  tracer.span('request', () => {
    setImmediate(() => {
      tracer.childSpan('polls', () => {})
      tracer.span('new trace', resolve)
    })
  })
  await promise
  assert.deepEqual(
    ended.map(({ name }) => name),
    ['request', 'new trace'],
  )
  assert.notEqual(spanCalled('new trace').spanContext().traceId, spanCalled('request').spanContext().traceId)
})

test('calls of a port return the same results, and are traced with their failures but without their messages', async () => {
  class Port {
    readonly #answer = 'secret text'
    isSound = true
    async read(words: string): Promise<string> {
      return words + this.#answer
    }
    async fail(words: string): Promise<never> {
      throw new UnavailableError(words)
    }
    find(): { outcome: string } {
      return { outcome: 'timed_out' }
    }
  }
  const port = tracer.traceMethods('port ', new Port(), (method) => ({ method }))
  assert.equal(port.isSound, true)
  assert.equal(await port.read(''), 'secret text')
  assert.equal(ended.length, 0, 'outside of a trace there is none')
  await tracer.span('request', async () => {
    assert.equal(await port.read('more '), 'more secret text')
    await assert.rejects(port.fail('secret text'), /secret text/)
    assert.equal(port.find().outcome, 'timed_out')
  })
  const [read, failed, found] = ['read', 'fail', 'find'].map((method) => spanCalled(`port ${method}`))
  assert.deepEqual([read!.attributes, read!.status.code], [{ method: 'read' }, SpanStatusCode.UNSET])
  assert.deepEqual([failed!.status, found!.status], [{ code: SpanStatusCode.ERROR }, { code: SpanStatusCode.ERROR }])
  assert.equal(found!.attributes['error.type'], 'timed_out')
  assert.equal(read!.parentSpanContext?.spanId, spanCalled('request').spanContext().spanId)
  const recorded = ended.map(({ name, attributes, status, events }) => ({ name, attributes, status, events }))
  assert.doesNotMatch(JSON.stringify(recorded), /secret/)
})

test('a request to a node of the search cluster is a span, and propagates the trace', async () => {
  const carried: (string | undefined)[] = []
  const server = createServer((request, response) => {
    carried.push(request.headers.traceparent as string | undefined)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node = await ClusterNode.open(`http://127.0.0.1:${port}`, null)
  const search = { method: 'POST', path: '/index/_search', body: '{}', contentType: 'application/json' } as const
  await node.send(search).answered
  await tracer.span('request', () => node.send(search).answered)
  server.closeAllConnections()
  server.close()
  const sent = spanCalled('HTTP POST')
  const { traceId, spanId } = sent.spanContext()
  assert.deepEqual(carried, [undefined, `00-${traceId}-${spanId}-01`])
  assert.equal(traceId, spanCalled('request').spanContext().traceId)
  assert.deepEqual(sent.attributes, {
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
    'server.port': port,
  })
})
