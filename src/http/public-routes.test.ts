import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { silentIncidents } from '../platform/incidents.ts'
import { Metrics } from './metrics.ts'
import { publicRoutes } from './public-routes.ts'
import type { TypedApp } from './typed-app.ts'

test('the first scrape reports every check, even if one of them hangs', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const metrics = new Metrics()
  const passing = async () => ({ ok: true, detail: 'well' })
  const silent = () => new Promise<never>(() => {})
  publicRoutes(app as unknown as TypedApp, metrics, { disk: passing, store: silent }, silentIncidents)
  const text = await metrics.text()
  assert.match(text, /^tidemark_ready\{check="disk"\} 1$/m)
  assert.match(text, /^tidemark_ready\{check="store"\} 0$/m)
})
