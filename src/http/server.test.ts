import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifySchema } from 'fastify'
import { pino } from 'pino'
import type { Authenticator } from '../access/authenticator.ts'
import type { Principal } from '../access/principal.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { IdempotencyHeaders } from './make-once.ts'
import { Metrics } from './metrics.ts'
import type { RouteConfig } from './route.ts'
import { makeServer, type ServerParts } from './server.ts'

const defaults = {
  logger: pino({ level: 'silent' }),
  corsOrigins: [],
  requestsInFlightMax: 1,
  connectionsMax: 1,
  bodyTimeoutMs: 1000,
  shutdownDrainMs: 0,
}

/** A server with one route that receives no request. */
function serverWith(url: string, config: Partial<RouteConfig>, method = 'GET', schema: FastifySchema = {}) {
  const parts = {
    ...defaults,
    measures: new Metrics(),
    routes: (app) => void app.route({ method, url, config, schema, handler: async () => 'ok' }),
  } as Partial<ServerParts> as ServerParts
  return makeServer(parts)
}

const said = { operation: 'account.read', invalid: 'invalid_request' } as const

test('the server does not start if the path and the config of a route disagree about its credential', async () => {
  await assert.rejects(
    serverWith('/v1/x', { ...said, isPublic: true }),
    /GET \/v1\/x is public, but its path needs a credential/,
  )
  await assert.rejects(serverWith('/elsewhere', said), /\/elsewhere is not public, but its path needs no credential/)
  await assert.rejects(serverWith('/v1/x', { operation: 'account.read' }), /does not name its operation and error code/)
  for (const [url, config] of [['/v1/x', said] as const, ['/elsewhere', { ...said, isPublic: true }] as const]) {
    await (await serverWith(url, config)).close()
  }
})

test('1,000 refused applications have as many series as 21', async () => {
  const metrics = new Metrics()
  const identify = (secret: string): Principal => ({
    ...{ kind: 'consumer', keyId: `key_${secret}`, applicationId: `app_${secret}`, name: secret },
    ...{ policy: { requests_per_second: 1, burst: 1 }, entitlements: [], entries: [], hiddenDatasets: [] },
  })
  const app = await makeServer({
    ...defaults,
    measures: metrics,
    authenticator: { identify } as Partial<Authenticator> as Authenticator,
    claims: { findClaim: async () => null },
    usage: { recordKeyUse: () => {}, count: () => {} } as Partial<UsageBook> as UsageBook,
    rates: { take: () => ({ allowed: false, remaining: 0, resetSeconds: 1, retryAfterSeconds: 1 }) },
    routes: (routes) => void routes.get('/v1/x', { config: said }, async () => 'ok'),
  })
  const seriesWith = async (applications: number): Promise<number> => {
    for (let i = 0; i < applications; i++) {
      const headers = { host: 'here', authorization: `Bearer k${i}` }
      const { statusCode } = await app.inject({ url: '/v1/x', headers })
      assert.equal(statusCode, 429)
    }
    return (await metrics.text()).split('\n').filter((line) => line.startsWith('tidemark_')).length
  }
  const few = await seriesWith(21)
  assert.equal(await seriesWith(1000), few)
  assert.ok(
    (await metrics.text()).includes('tidemark_refusals_total{code="rate_limit_exceeded",application="other"} 981'),
  )
  await app.close()
})

test('a route whose credential has roles must name one, and any other route must not', async () => {
  await assert.rejects(serverWith('/admin/v1/x', said), /GET \/admin\/v1\/x does not name the role that it needs/)
  await assert.rejects(serverWith('/metrics', said), /does not name the role that it needs/)
  await assert.rejects(serverWith('/v1/x', { ...said, role: 'viewer' }), /needs a role, but its credential has none/)
  await (await serverWith('/admin/v1/x', { ...said, role: 'viewer' })).close()
})

test('a POST that creates something and accepts no Idempotency-Key does not start', async () => {
  const response = { 201: { type: 'object' } }
  await assert.rejects(
    serverWith('/v1/x', said, 'POST', { response }),
    /POST \/v1\/x creates something, but accepts no/,
  )
  await assert.rejects(serverWith('/v1/x', said, 'POST', { response: { 202: {} } }), /accepts no Idempotency-Key/)
  for (const [method, schema] of [
    ['POST', { response, headers: IdempotencyHeaders }],
    ['POST', { response: { 200: {} } }],
    ['POST', { response: { 202: { type: 'null' } } }],
    ['PUT', { response }],
  ] as const) {
    await (await serverWith('/v1/x', said, method, schema)).close()
  }
})

test('an address that cannot be read is refused on public routes too', async () => {
  const app = await serverWith('/open', { ...said, isPublic: true })
  for (const url of ['/open?a=%ff', '/open?a=b%00c', '/open?a=%']) {
    const { statusCode, body } = await app.inject({ url, headers: { host: 'here' } })
    assert.deepEqual([statusCode, JSON.parse(body).code], [400, 'invalid_request'], url)
  }
  assert.equal((await app.inject({ url: '/open?a=%C3%A9', headers: { host: 'here' } })).statusCode, 200)
  await app.close()
})
