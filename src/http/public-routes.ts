import { createHash } from 'node:crypto'
import { isUnavailability } from '../errors.ts'
import type { Incidents } from '../incidents.ts'
import { Type } from '../schema-types.ts'
import { named } from '../validation.ts'
import type { Metrics } from './metrics.ts'
import { namesTag } from './names-tag.ts'
import { ErrorSchema } from './openapi.ts'
import type { TypedApp } from './typed-app.ts'

/** What a probe found: `ok`, or what is the matter, in words for an operator. One that throws has found it not ok. */
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

export function publicRoutes(
  app: TypedApp,
  metrics: Metrics,
  checks: Readonly<Record<string, Check>>,
  incidents: Incidents,
): void {
  const found = async (name: string, check: Check): ReturnType<Check> => {
    try {
      const answer = await check()
      incidents.worked(`ready.${name}`)
      return answer
    } catch (error) {
      incidents.failed(`ready.${name}`, error)
      return { ok: false, detail: isUnavailability(error) ? error.message : 'it failed: the log says of what' }
    }
  }
  const lookAtAll = () =>
    Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, ...(await found(name, check)) })))
  const ready = '1 for each check of /readyz that is well, 0 otherwise.'
  metrics.gauges({ tidemark_ready: { help: ready, labels: ['check'] } }, async () => ({
    tidemark_ready: (await lookAtAll()).map(({ name, ok }) => ({ labels: { check: name }, value: Number(ok) })),
  }))
  app.addSchema(ErrorSchema)
  // Made when it is first asked for; it does not change while the process runs.
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
      const all = await lookAtAll()
      const ready = all.every(({ ok }) => ok)
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
      // The same meaning in every encoding, not the same bytes: a weak tag.
      reply.header('etag', `W/${tag}`).header('cache-control', 'public, max-age=300')
      if (namesTag(request.headers['if-none-match'], tag)) return reply.status(304).send(null)
      return reply.type('application/json; charset=utf-8').send(content)
    },
  )

  app.get(
    '/metrics',
    {
      config: { operation: 'metrics.read', invalid: 'invalid_request', role: 'viewer' },
      schema: {
        ...about('Get Prometheus metrics'),
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
