import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTracing } from './tracing-settings.ts'

const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

function read(environment: Record<string, string>) {
  const faults: string[] = []
  return { settings: readTracing(environment, faults), faults }
}

test('an endpoint switches tracing on, with the defaults of the specification', () => {
  const { settings, faults } = read(on)
  assert.deepEqual(faults, [])
  assert.deepEqual(settings, {
    endpoint: 'http://collector:4318/v1/traces',
    protocol: 'http/protobuf',
    headers: {},
    timeoutMs: 10_000,
    compression: 'none',
    tls: {},
    serviceName: null,
    resource: {},
    sampler: 'parentbased_always_on',
    ratio: 1,
    propagates: true,
    delayMs: 5000,
    exportTimeoutMs: 30_000,
    queueMax: 2048,
    batchMax: 512,
  })
})

test('without an endpoint, or switched off, nothing is traced and other variables are ignored', () => {
  const wrong = { OTEL_TRACES_SAMPLER: 'no such sampler', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  for (const environment of [
    wrong,
    { ...wrong, OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { ...wrong, ...on, OTEL_SDK_DISABLED: 'TRUE' },
    { ...wrong, ...on, OTEL_TRACES_EXPORTER: 'none' },
  ]) {
    assert.deepEqual(read(environment), { settings: null, faults: [] })
  }
})

test('variables for traces take precedence over those for all signals, and headers are merged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-tracing-'))
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, 'PEM')
  const { settings, faults } = read({
    ...on,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/own/path',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20all,x-tenant=one',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20traces',
    OTEL_EXPORTER_OTLP_CERTIFICATE: ca,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2Cb, service.name=other',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '.25',
    OTEL_PROPAGATORS: 'none',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
  })
  rmSync(folder, { recursive: true })
  assert.deepEqual(faults, [])
  assert.equal(settings?.endpoint, 'https://traces/own/path')
  assert.equal(settings.protocol, 'http/json')
  assert.deepEqual(settings.headers, { authorization: 'Bearer traces', 'x-tenant': 'one' })
  assert.deepEqual(settings.tls, { ca: Buffer.from('PEM') })
  assert.deepEqual(settings.resource, { 'deployment.environment.name': 'a,b', 'service.name': 'other' })
  assert.deepEqual([settings.sampler, settings.ratio, settings.propagates], ['traceidratio', 0.25, false])
  assert.deepEqual([settings.queueMax, settings.batchMax], [100, 100])
})

for (const [name, value, fault] of [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'a text of 14 characters, but it must be an http'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://u:secret@h', 'a text of 17 characters, but it must be an http'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', '"grpc", but it must be one of http/protobuf, http/json'],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc', '"grpc", but it must be one of'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'secret', 'a text of 6 characters, but it must be name=value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0d%0ac', 'a text of 10 characters, but it must be name=value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%E0%A4%A', 'a text of 10 characters, but it must be name=value'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', '"0", but it must be a whole number from 1'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'br', '"br", but it must be one of none, gzip'],
  ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/no/such/file', '"/no/such/file", but it must be the path of a PEM file'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'production', '"production", but it must be name=value'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', '"jaeger_remote", but it must be one of always_on'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', '"1.5", but it must be a number from 0 to 1'],
  ['OTEL_SDK_DISABLED', 'yes', '"yes", but it must be true or false'],
  ['OTEL_TRACES_EXPORTER', 'zipkin', '"zipkin", but it must be otlp or none'],
  ['OTEL_PROPAGATORS', 'b3', '"b3", but it must be tracecontext'],
  ['OTEL_BSP_SCHEDULE_DELAY', 'soon', '"soon", but it must be a whole number'],
  ['OTEL_BSP_EXPORT_TIMEOUT', '-1', '"-1", but it must be a whole number'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '1e9', '"1e9", but it must be a whole number'],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '4096', '4096, but it must be no more than OTEL_BSP_MAX_QUEUE_SIZE, 2048'],
] as const) {
  test(`${name} cannot be ${value}, and no secret is repeated`, () => {
    const { settings, faults } = read({ ...on, [name as string]: value })
    assert.equal(settings, null)
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.ok(faults[0]!.startsWith(`${name} is ${fault}`), faults[0]!)
    assert.doesNotMatch(faults[0]!, /secret/)
  })
}

test('a client certificate needs its key', () => {
  const { faults } = read({ ...on, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/dev/null' })
  assert.deepEqual(faults, [
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY go together: set both or none of them',
  ])
})
