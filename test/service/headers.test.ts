import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expectError, parseRaw } from '../acceptance/expect-error.ts'
import { type Answer, adminToken, startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

let server: TestServer
/** The same server with CORS for two origins. */
let open: TestServer
let key: string

before(async () => {
  ;[server, open] = await Promise.all([
    startServer(),
    startServer({ env: { TIDEMARK_CORS_ORIGINS: 'https://app.example.com, http://localhost:5173' } }),
  ])
  ;({ key } = await server.makeApplication())
})

const withId = (id: string): Promise<Answer> => server.call('GET', '/healthz', { headers: { 'x-request-id': id } })

test('a well-formed request id is kept, in the header and in the error', async () => {
  for (const id of ['a', 'trace-1.2_3', '0af7651916cd43dd8448eb211c80319c', 'a:b+c/d=', 'x'.repeat(128)]) {
    assert.equal((await withId(id)).headers.get('x-request-id'), id)
    const missing = await server.call('GET', '/nothing', { headers: { 'x-request-id': id } })
    await expectError(server, missing, 404, 'not_found')
    assert.equal(missing.body.request_id, id)
  }
})

test('any other request id is replaced', async () => {
  for (const id of ['', 'with space', 'x'.repeat(129), '<script>', 'a,b', '"quoted"', '{"a":1}', 'é']) {
    const given = (await withId(id)).headers.get('x-request-id')
    assert.match(given ?? '', /^[0-9a-f-]{36}$/, JSON.stringify(id))
  }
  const twice = parseRaw(
    await server.raw(
      'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nConnection: close\r\n\r\n',
    ),
  )
  assert.match(twice.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
})

test('a request id that holds a credential is replaced, and not logged', async () => {
  const { key: collector } = await server.makeCollector()
  for (const secret of [key, collector, 'tma_0123456789', adminToken]) {
    for (const id of [secret, `trace-${secret}`, `${secret}:1`]) {
      const headers = { authorization: `Bearer ${secret}`, 'x-request-id': id }
      const given = (await server.call('GET', '/nothing', { headers })).headers.get('x-request-id')
      assert.match(given ?? '', /^[0-9a-f-]{36}$/, id)
      await until('it is logged', async () => server.logs.some(({ reqId }) => reqId === given))
    }
    assert.ok(!server.stderr.includes(secret))
  }
})

test('every answer has an id of its own when none is given', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => server.call('GET', '/healthz')))
  assert.equal(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size, 50)
})

test('security headers are on every answer: pages, data, errors, and what was no request at all', async () => {
  const answers = [
    await server.call('GET', '/'),
    await server.call('GET', '/docs'),
    await server.call('GET', '/openapi.json'),
    await server.consumer(key, 'GET', '/v1/account'),
    await server.call('GET', '/v1/account'),
    await server.call('GET', '/nothing'),
    parseRaw(await server.raw('GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')),
    parseRaw(await server.raw('nonsense\r\n\r\n')),
  ]
  for (const { headers, text } of answers) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff', text.slice(0, 100))
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
    assert.ok((headers.get('x-request-id') ?? '') !== '')
    assert.equal(headers.get('x-powered-by'), null)
    assert.equal(headers.get('server'), null)
  }
})

test('what belongs to a caller is not cached, whether answered or refused', async () => {
  for (const credential of [key, 'garbage']) {
    const answer = await server.consumer(credential, 'GET', '/v1/account')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
  }
})

const preflight = (one: TestServer, origin: string, method = 'GET'): Promise<Answer> =>
  one.call('OPTIONS', '/v1/account', {
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' },
  })

const corsHeaders = (answer: Answer): string[] =>
  [...answer.headers.keys()].filter((name) => name.startsWith('access-control'))

test('CORS is off by default: no header, and a preflight is a wrong method', async () => {
  const refused = await preflight(server, 'https://app.example.com')
  await expectError(server, refused, 405, 'method_not_allowed')
  assert.deepEqual(corsHeaders(refused), [])
  const answer = await server.call('GET', '/healthz', { headers: { origin: 'https://app.example.com' } })
  assert.deepEqual(corsHeaders(answer), [])
})

test('CORS when set: preflight without a credential, for every method the API has', async () => {
  for (const origin of ['https://app.example.com', 'http://localhost:5173']) {
    const allowed = await preflight(open, origin, 'PATCH')
    assert.equal(allowed.status, 204, allowed.text)
    assert.equal(allowed.headers.get('access-control-allow-origin'), origin)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
      assert.match(allowed.headers.get('access-control-allow-methods') ?? '', new RegExp(`\\b${method}\\b`))
    }
    const allowedHeaders = (allowed.headers.get('access-control-allow-headers') ?? '').split(', ')
    for (const name of ['authorization', 'mcp-protocol-version', 'mcp-session-id']) {
      assert.ok(allowedHeaders.includes(name), allowedHeaders.join())
    }
    assert.match(allowed.headers.get('vary') ?? '', /origin/i)
    assert.ok((allowed.headers.get('x-request-id') ?? '') !== '')
  }
})

test('CORS when set: a page can read answers and errors, another origin neither', async () => {
  const headers = { origin: 'https://app.example.com' }
  for (const path of ['/healthz', '/v1/account', '/nothing']) {
    const answer = await open.call('GET', path, { headers })
    assert.equal(answer.headers.get('access-control-allow-origin'), headers.origin, path)
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /x-request-id.*ratelimit.*retry-after/i)
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
  }
  for (const origin of ['https://evil.example.com', 'https://app.example.com.evil.com', 'null']) {
    assert.notEqual((await preflight(open, origin)).headers.get('access-control-allow-origin'), origin)
    const answer = await open.call('GET', '/v1/account', { headers: { origin } })
    assert.notEqual(answer.headers.get('access-control-allow-origin'), origin)
  }
})

test('CORS when set: unknown paths are still 404 and wrong methods 405', async () => {
  await expectError(open, await open.call('GET', '/nothing'), 404, 'not_found')
  const answer = await open.call('DELETE', '/v1/account')
  await expectError(open, answer, 405, 'method_not_allowed')
  assert.equal(answer.headers.get('allow'), 'GET, HEAD')
})
