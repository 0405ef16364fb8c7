import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Metrics } from './metrics.ts'
import type { RouteConfig } from './route.ts'
import { makeServer, type ServerParts } from './server.ts'

/** A server with one route; nobody asks it anything. */
function serverWith(url: string, config: Partial<RouteConfig>) {
  const parts = {
    logger: pino({ level: 'silent' }),
    measures: new Metrics(),
    corsOrigins: [],
    requestsInFlightMax: 1,
    connectionsMax: 1,
    bodyTimeoutMs: 1000,
    shutdownDrainMs: 0,
    routes: (app) => void app.get(url, { config }, async () => 'ok'),
  } as Partial<ServerParts> as ServerParts
  return makeServer(parts)
}

const said = { operation: 'account.read', invalid: 'invalid_request' } as const

test('a route whose place and words do not agree on who may come in does not start', async () => {
  await assert.rejects(serverWith('/v1/x', { ...said, isPublic: true }), /GET \/v1\/x is public, but stands where/)
  await assert.rejects(serverWith('/elsewhere', said), /\/elsewhere stands where no credential is needed, but is not/)
  await assert.rejects(serverWith('/v1/x', { operation: 'account.read' }), /does not say its operation and error code/)
  for (const [url, config] of [['/v1/x', said] as const, ['/elsewhere', { ...said, isPublic: true }] as const]) {
    await (await serverWith(url, config)).close()
  }
})
