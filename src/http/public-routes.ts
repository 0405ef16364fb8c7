import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Type } from 'typebox'
import { isUnavailability } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import { named } from '../platform/validation.ts'
import { namesTag } from './conditional-requests.ts'
import type { Metrics } from './metrics.ts'
import { ErrorSchema } from './openapi.ts'
import type { TypedApp } from './typed-app.ts'

/** The result of a check: `ok`, or the problem in words for an operator. A check that throws counts as not ok. */
export type Check = () => Promise<{ readonly ok: boolean; readonly detail: string }>

const Ready = named(
  'Readiness',
  Type.Object({
    ready: Type.Boolean(),
    checks: Type.Record(
      Type.String(),
      named('ReadinessCheck', Type.Object({ ok: Type.Boolean(), detail: Type.String() })),
    ),
  }),
)

/** Short enough that the results of the other checks are reported in time when one check hangs. */
const checkedWithinMs = 1500
const timedOut = (): Promise<false> => setTimeout(checkedWithinMs, false, { ref: false })

export function publicRoutes(
  app: TypedApp,
  metrics: Metrics,
  checks: Readonly<Record<string, Check>>,
  incidents: Incidents,
): void {
  const resultOf = async (name: string, check: Check): ReturnType<Check> => {
    try {
      const answer = await check()
      incidents.worked(`ready.${name}`)
      return answer
    } catch (error) {
      incidents.failed(`ready.${name}`, error)
      return { ok: false, detail: isUnavailability(error) ? error.message : 'it failed: see the log' }
    }
  }
  const runAll = () =>
    Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, ...(await resultOf(name, check)) })))
  const passes = async (name: string, check: Check): Promise<boolean> => (await resultOf(name, check)).ok
  const ready = '1 for each check of /readyz that passes, 0 otherwise.'
  metrics.gauges({ tidemark_ready: { help: ready, labels: ['check'] } }, async () => ({
    tidemark_ready: await Promise.all(
      Object.entries(checks).map(async ([name, check]) => ({
        labels: { check: name },
        value: Number(await Promise.race([passes(name, check), timedOut()])),
      })),
    ),
  }))
  app.addSchema(ErrorSchema)
  // Made for the first request that needs it. It does not change while the process runs.
  let description: ReturnType<typeof describe> | null = null
  const about = (summary: string, description?: string) => ({
    tags: ['Service'],
    summary,
    ...(description === undefined ? {} : { description }),
  })
  const open = (operation: 'health.live' | 'health.ready' | 'openapi.read') =>
    ({ isPublic: true, operation, invalid: 'invalid_request' }) as const

  app.get(
    '/healthz',
    {
      config: open('health.live'),
      schema: {
        ...about('Liveness probe', 'The process is running. Needs no credential.'),
        response: { 200: named('Liveness', Type.Object({ status: Type.Literal('ok') })) },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/readyz',
    {
      config: open('health.ready'),
      schema: {
        ...about(
          'Readiness probe',
          'Whether the instance can answer requests, with the result of each check; 503 if not. Needs no credential.',
        ),
        response: { 200: Ready, 503: Ready },
      },
    },
    async (_request, reply) => {
      const all = await runAll()
      const ready = all.every(({ ok }) => ok)
      if (!ready) reply.header('retry-after', '1')
      const states = Object.fromEntries(all.map(({ name, ok, detail }) => [name, { ok, detail }]))
      return reply.status(ready ? 200 : 503).send({ ready, checks: states })
    },
  )

  app.get(
    '/openapi.json',
    {
      config: open('openapi.read'),
      schema: {
        ...about('Get the OpenAPI description', 'This description, as JSON. Needs no credential.'),
        response: {
          200: Type.Unknown(),
          304: Type.Null({ description: 'Not modified: `If-None-Match` has its current tag.' }),
        },
      },
    },
    async (request, reply) => {
      description ??= describe(app)
      const { content, tag } = await description
      // A weak tag, because the bytes differ between encodings while the meaning does not.
      reply.header('etag', `W/${tag}`).header('cache-control', 'public, max-age=300')
      if (namesTag(request.headers['if-none-match'], tag)) return reply.status(304).send(null)
      return reply.type('application/json; charset=utf-8').send(content)
    },
  )

  app.get(
    '/metrics',
    {
      config: { operation: 'metrics.read', invalid: 'invalid_request', role: 'viewer', isMonitoring: true },
      schema: {
        ...about(
          'Get Prometheus metrics',
          'Also answers while the store is unavailable, with an admin token that this process accepted for `/metrics` within the last day. Values that need the store are then left out.',
        ),
        response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
      },
    },
    async (_request, reply) =>
      reply
        .type('text/plain; version=0.0.4; charset=utf-8')
        .serializer((text) => String(text))
        .send(await metrics.text()),
  )
}

async function describe(app: TypedApp): Promise<{ readonly content: Buffer; readonly tag: string }> {
  const content = Buffer.from(JSON.stringify(await app.describe()))
  return { content, tag: `"${createHash('sha256').update(content).digest('base64url')}"` }
}
