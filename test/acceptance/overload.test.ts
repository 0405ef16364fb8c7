import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expectError } from './expect-error.ts'
import { startServer, type TestServer } from './harness.ts'
import { HeldRequest } from './held-request.ts'
import { until } from './until.ts'

let server: TestServer
let key: string

before(async () => {
  server = await startServer({ env: { TIDEMARK_REQUESTS_IN_FLIGHT_MAX: '1' } })
  ;({ key } = await server.makeApplication())
})

test('beyond the limit the answer is a quick 503 with Retry-After, and it is over when the work is', async () => {
  const held = await HeldRequest.start(server, 'slow')
  for (let i = 0; i < 5; i++) {
    const started = performance.now()
    const refused = await server.consumer(key, 'GET', '/v1/account')
    await expectError(server, refused, 503, 'overloaded')
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.ok(performance.now() - started < 1000)
  }
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/']) {
    assert.equal((await server.call('GET', path)).status, 200, `${path} answers under load`)
  }
  assert.equal((await held.finish()).status, 201)
  await until(
    'the next request passes',
    1000,
    async () => (await server.consumer(key, 'GET', '/v1/account')).status === 200,
  )
})

test('refused requests give their place back too', async () => {
  for (let i = 0; i < 20; i++) {
    assert.equal((await server.consumer('garbage', 'GET', '/v1/account')).status, 401)
    assert.equal((await server.admin('POST', '/admin/v1/applications', '{')).status, 400)
    assert.equal((await server.consumer(key, 'GET', '/v1/account')).status, 200)
  }
})

test('a client that goes away in the middle gives its place back', async () => {
  for (let i = 0; i < 3; i++) {
    const held = await HeldRequest.start(server, 'gone')
    assert.equal((await server.consumer(key, 'GET', '/v1/account')).status, 503)
    held.abandon()
    await until(
      'the place is free again',
      2000,
      async () => (await server.consumer(key, 'GET', '/v1/account')).status === 200,
    )
  }
})
