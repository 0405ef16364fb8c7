import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { SignInCodes } from '../access/sign-in-codes.ts'
import { TidemarkError } from '../errors.ts'
import { importMap, packageFile, type ServedFile, withAddresses } from './console-packages.ts'
import { contentPolicy } from './security-headers.ts'
import type { TypedApp } from './typed-app.ts'

const folder = new URL('../../console/', import.meta.url)

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
}

/** Addresses of the console's views: all are one page, whose script reads the address. */
const views = [
  '/',
  '/account',
  '/analysis',
  '/analysis/runs/:run_id',
  '/analysis/subscriptions',
  '/changes',
  '/docs',
  '/documents',
  '/documents/:id',
  '/operate/overview',
  '/operate/applications',
  '/operate/applications/:application_id',
  '/operate/datasets',
  '/operate/erasures',
  '/operate/collectors',
  '/operate/runs',
  '/operate/usage',
  '/operate/audit',
  '/operate/administrators',
  '/search',
  '/sign-in',
]

/**
 * The console and what it loads. Its TypeScript goes out without its types: there is no build, and line numbers hold.
 * Libraries come from the installed packages, by the import map of the page.
 */
export function consoleRoutes(app: TypedApp, codes: SignInCodes): void {
  const files = new Map(
    globSync('*/*.{css,ts,svg,md}', { cwd: fileURLToPath(folder) })
      .filter((file) => !file.endsWith('.test.ts'))
      .map((file): [string, ServedFile] => [file, { path: fileURLToPath(new URL(file, folder)) }]),
  )
  const known = new Map<string, Promise<Buffer>>()
  const read = (name: string, file: ServedFile): Promise<Buffer> => {
    const content = known.get(name) ?? contentOf(name, file)
    known.set(name, content)
    // What could not be read once may be read the next time.
    content.catch(() => known.delete(name))
    return content
  }

  const open = (operation: 'pages.view' | 'pages.asset' | 'pages.signIn') =>
    ({ isPublic: true, operation, invalid: 'invalid_request' }) as const
  let page: Promise<Buffer> | null = null
  for (const view of views) {
    app.get(view, { config: open('pages.view'), schema: { hide: true } }, async (_request, reply) => {
      page ??= readFile(new URL('console.html', folder), 'utf8').then(withImportMap)
      return reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', contentPolicy(importMapHash))
        .header('cache-control', 'no-cache')
        .send(await page)
    })
  }

  const asset = async (reply: FastifyReply, name: string, file: ServedFile | null): Promise<FastifyReply> => {
    if (file === null) throw new TidemarkError('not_found', 'there is no such file')
    return reply
      .type(types[extname(name)]!)
      .header('cache-control', 'public, max-age=300')
      .send(await read(name, file))
  }
  app.get(
    '/assets/:folder/:name',
    {
      config: open('pages.asset'),
      schema: { hide: true, params: Type.Object({ folder: Type.String(), name: Type.String() }) },
    },
    async ({ params: { folder, name } }, reply) => {
      const file = `${folder}/${name}`
      return asset(reply, file, files.get(file) ?? null)
    },
  )
  app.get(
    '/assets/packages/*',
    { config: open('pages.asset'), schema: { hide: true, params: Type.Object({ '*': Type.String() }) } },
    async ({ params: { '*': name } }, reply) => asset(reply, `packages/${name}`, packageFile(name)),
  )

  app.post(
    '/sign-in',
    {
      config: open('pages.signIn'),
      schema: { hide: true, body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 100 }) }) },
    },
    async (request, reply) => {
      const key = codes.redeem(request.body.code)
      if (key === null) {
        const message = 'this address has been used, or is too old: sign in with a key, or start again for a new one'
        throw new TidemarkError('unauthorized', message)
      }
      return reply.header('cache-control', 'no-store').send({ api_key: key })
    },
  )
}

/** The only inline script of the console; browsers take import maps in no other way. It may run by its hash. */
const importMapHash = `'sha256-${createHash('sha256').update(importMap).digest('base64')}'`

const withImportMap = (html: string): Buffer =>
  Buffer.from(html.replace('<script type="importmap"></script>', `<script type="importmap">${importMap}</script>`))

async function contentOf(name: string, { path, wrapped }: ServedFile): Promise<Buffer> {
  const raw = await readFile(path)
  if (name.endsWith('.ts')) return Buffer.from(withAddresses(withoutTypes(raw.toString())))
  return wrapped === undefined ? raw : Buffer.from(`${wrapped.before ?? ''}${raw}\n${wrapped.after}\n`)
}

/** The runtime warns that this function may change; it is pinned, and an operator who reads the log can do nothing about it. */
function withoutTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
