import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { adminToken, startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

let server: TestServer

before(async () => {
  server = await startServer()
})

test('/healthz and /readyz say that it lives and serves', async () => {
  assert.deepEqual((await server.call('GET', '/healthz')).body, { status: 'ok' })
  const ready = await server.call('GET', '/readyz')
  assert.equal(ready.status, 200)
  assert.equal(ready.body.ready, true)
  assert.ok(Object.values<{ ok: boolean }>(ready.body.checks).every(({ ok }) => ok))
  assert.ok('store' in ready.body.checks)
})

test('/metrics counts requests by operation and status, in the text form of Prometheus', async () => {
  const { key } = await server.makeApplication()
  const counted = async (): Promise<number> => {
    const { text } = await server.admin('GET', '/metrics')
    const line = /^tidemark_http_request_seconds_count\{operation="account\.read",status="200"\} (\d+)$/m.exec(text)
    return Number(line?.[1] ?? 0)
  }
  const before = await counted()
  for (let i = 0; i < 3; i++) await server.consumer(key, 'GET', '/v1/account')
  await until('three more are counted', async () => (await counted()) === before + 3)
  const metrics = await server.admin('GET', '/metrics')
  assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  for (const name of ['tidemark_store_writer_calls', 'tidemark_store_reader_calls', 'process_cpu_seconds_total']) {
    assert.match(metrics.text, new RegExp(`^${name} `, 'm'))
  }
  assert.ok(!metrics.text.includes(key) && !metrics.text.includes(adminToken))
})

test('the log is JSON lines with request ids, and holds no credential, body or query', async () => {
  const { key, keyId, applicationId } = await server.makeApplication({
    name: 'canary-body',
    entitlements: [{ datasets: ['news'] }],
  })
  const collector = await server.makeCollector({ name: 'canary-body' })
  const calls = [
    ['GET', '/v1/account', key],
    ['GET', '/v1/account?canary-query=1', key],
    ['GET', '/v1/account', 'tmc_canary-wrong-key'],
    ['POST', '/collector/v1/documents', collector.key],
    ['PATCH', `/admin/v1/applications/${applicationId}`, adminToken],
    ['GET', '/canary-path', key],
    ['GET', '/v1/values/dataset?prefix=canary-query', key],
  ] as const
  for (const [i, [method, path, credential]] of calls.entries()) {
    await server.call(method, path, {
      headers: { authorization: `Bearer ${credential}`, 'x-request-id': `log-test-${i}`, cookie: 'canary-cookie' },
      ...(method === 'GET' ? {} : { body: { name: 'canary-body', canary: 'canary-body' } }),
    })
  }
  assert.equal(await server.stop(), 0)

  const lines = server.logs
  const statuses = calls.map((_, i) =>
    lines.filter((line) => line.reqId === `log-test-${i}`).map((line) => line.status),
  )
  assert.deepEqual(statuses, [[200], [400], [401], [400], [400], [404], [200]])
  const requests = lines.filter((line) => line.msg === 'request')
  assert.ok(requests.length > calls.length)
  for (const line of requests) {
    assert.ok(typeof line.reqId === 'string' && typeof line.operation === 'string' && typeof line.ms === 'number')
    assert.ok(Number.isInteger(line.time) && Number.isInteger(line.level))
  }
  const whoOf = (i: number) => {
    const { application, collector: by, key: with_, ip } = requests.find((line) => line.reqId === `log-test-${i}`)!
    return { application, by, with_, ip }
  }
  const ip = '127.0.0.1'
  const nobody = { application: undefined, by: undefined, with_: undefined, ip }
  assert.deepEqual(whoOf(0), { ...nobody, application: applicationId, with_: keyId })
  assert.deepEqual(whoOf(2), nobody)
  assert.deepEqual(whoOf(3), { ...nobody, by: collector.collectorId, with_: collector.keyId })
  assert.deepEqual(whoOf(4), { ...nobody, with_: 'admin-token' })
  for (const secret of [key, collector.key, adminToken, 'canary', 'Bearer'])
    assert.ok(!server.stderr.includes(secret), secret)
})
