import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { Type } from 'typebox'
import { TidemarkError } from '../errors.ts'
import type { Metrics } from './metrics.ts'
import { ErrorSchema } from './openapi.ts'
import type { TypedApp } from './typed.ts'

/** What a probe found: `ok`, or what is the matter, in words for an operator. */
export type Check = () => Promise<{ readonly ok: boolean; readonly detail: string }>

const pages = new URL('./pages/', import.meta.url)
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const Ready = Type.Object({
  ready: Type.Boolean(),
  checks: Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), detail: Type.String() })),
})

export function publicRoutes(app: TypedApp, metrics: Metrics, checks: Readonly<Record<string, Check>>): void {
  app.addSchema(ErrorSchema)
  const about = (summary: string) => ({ tags: ['Service'], summary })
  const open = (
    operation: 'health.live' | 'health.ready' | 'openapi.read' | 'pages.landing' | 'pages.docs' | 'pages.asset',
  ) => ({ surface: 'public', operation, invalid: 'invalid_request' }) as const

  app.get(
    '/healthz',
    {
      config: open('health.live'),
      schema: { ...about('Is the process alive?'), response: { 200: Type.Object({ status: Type.Literal('ok') }) } },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/readyz',
    {
      config: open('health.ready'),
      schema: { ...about('Can it serve? 503 while it cannot'), response: { 200: Ready, 503: Ready } },
    },
    async (_request, reply) => {
      const found = Object.fromEntries(
        await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await check()] as const)),
      )
      const ready = Object.values(found).every(({ ok }) => ok)
      return reply.status(ready ? 200 : 503).send({ ready, checks: found })
    },
  )

  app.get(
    '/openapi.json',
    { config: open('openapi.read'), schema: { ...about('This description'), response: { 200: Type.Unknown() } } },
    async (_request, reply) => reply.type('application/json; charset=utf-8').send(app.swagger()),
  )

  app.get(
    '/metrics',
    {
      config: { surface: 'admin', operation: 'metrics.read', invalid: 'invalid_request' },
      schema: { ...about('Prometheus metrics'), response: { 200: Type.String() } },
    },
    async (_request, reply) =>
      reply
        .type('text/plain; version=0.0.4; charset=utf-8')
        .serializer((text) => String(text))
        .send(await metrics.text()),
  )

  const page = (url: string, file: string, operation: 'pages.landing' | 'pages.docs') =>
    app.get(url, { config: open(operation), schema: { hide: true } }, async (_request, reply) =>
      reply.type(types['.html']!).send(await readFile(new URL(file, pages))),
    )
  page('/', 'landing.html', 'pages.landing')
  page('/docs', 'docs.html', 'pages.docs')

  app.get(
    '/assets/:name',
    {
      config: open('pages.asset'),
      schema: { hide: true, params: Type.Object({ name: Type.String({ pattern: '^[a-z0-9-]+\\.(css|js|svg)$' }) }) },
    },
    async (request, reply) => {
      const { name } = request.params
      const content = await readFile(new URL(`assets/${name}`, pages)).catch(() => null)
      if (content === null) throw new TidemarkError('not_found', 'there is no such file')
      return reply.type(types[extname(name)]!).header('cache-control', 'public, max-age=300').send(content)
    },
  )
}
