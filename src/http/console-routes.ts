import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { SignInCodes } from '../access/sign-in-codes.ts'
import { TidemarkError } from '../platform/errors.ts'
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

/** The module of each view, by path. All paths serve the same page, except for its preload links. */
const views = {
  '/': 'welcome/welcome-view.ts',
  '/account': 'account/account-view.ts',
  '/analysis': 'analysis/analysis-view.ts',
  '/analysis/runs/:run_id': 'analysis/run-view.ts',
  '/analysis/subscriptions': 'analysis/subscriptions-view.ts',
  '/changes': 'changes/changes-view.ts',
  '/docs': 'reference/reference-view.ts',
  '/documents': 'documents/documents-view.ts',
  '/documents/:id': 'documents/document-view.ts',
  '/operate/overview': 'operate/overview-view.ts',
  '/operate/applications': 'operate/applications-view.ts',
  '/operate/applications/:application_id': 'operate/application-view.ts',
  '/operate/datasets': 'operate/datasets-view.ts',
  '/operate/erasures': 'operate/erasures-view.ts',
  '/operate/collectors': 'operate/collectors-view.ts',
  '/operate/runs': 'operate/runs-view.ts',
  '/operate/usage': 'operate/usage-view.ts',
  '/operate/audit': 'operate/audit-view.ts',
  '/operate/administrators': 'operate/administrators-view.ts',
  '/search': 'search/search-view.ts',
  '/sign-in': 'welcome/sign-in-view.ts',
}

/**
 * Serves the console and its assets. TypeScript is served with its types stripped, so there is no build, and line
 * numbers stay the same. Libraries come from the installed packages, through the import map of the page.
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
    // A failed read is not cached.
    content.catch(() => known.delete(name))
    return content
  }

  const open = (operation: 'pages.view' | 'pages.asset' | 'pages.signIn') =>
    ({ isPublic: true, operation, invalid: 'invalid_request' }) as const
  const readModule = async (name: string): Promise<string> => String(await read(name, files.get(name)!))
  for (const [view, module] of Object.entries(views)) {
    let page: Promise<Buffer> | null = null
    app.get(view, { config: open('pages.view'), schema: { hide: true } }, async (_request, reply) => {
      page ??= makePage(module, readModule)
      // A failed read is not cached.
      page.catch(() => {
        page = null
      })
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
        const message =
          'this sign-in link has been used or has expired: sign in with a key, or restart the server for a new link'
        throw new TidemarkError('unauthorized', message)
      }
      return reply.header('cache-control', 'no-store').send({ api_key: key })
    },
  )
}

/**
 * The hash by which the content policy allows the import map. It is the only inline script of the console, because an
 * import map must be inline.
 */
const importMapHash = `'sha256-${createHash('sha256').update(importMap).digest('base64')}'`

/**
 * Returns the page of a view with preload links for all its modules. Otherwise the browser would request each one only
 * after reading the module that imports it.
 */
async function makePage(view: string, read: (module: string) => Promise<string>): Promise<Buffer> {
  const modules = await modulesOf(['app/main.ts', view], read)
  const html = await readFile(new URL('console.html', folder), 'utf8')
  const preload = (name: string): string => `<link rel="modulepreload" href="/assets/${name}" />`
  return Buffer.from(
    html
      .replace('<script type="importmap"></script>', `<script type="importmap">${importMap}</script>`)
      .replace(preload('app/main.ts'), modules.map(preload).join('\n    ')),
  )
}

/** Returns these modules and those of the console that they import statically, directly or not. */
async function modulesOf(
  entries: readonly string[],
  read: (module: string) => Promise<string>,
): Promise<readonly string[]> {
  const found = new Set(entries)
  for (const name of found) {
    for (const [, imported] of (await read(name)).matchAll(/^(?:import\b[^'\n]*|\} from )'(\.[^']+)'/gm)) {
      found.add(new URL(imported!, `http://console/${name}`).pathname.slice(1))
    }
  }
  return [...found]
}

async function contentOf(name: string, { path, wrapped }: ServedFile): Promise<Buffer> {
  const raw = await readFile(path)
  if (name.endsWith('.ts')) return Buffer.from(withAddresses(withoutTypes(raw.toString())))
  return wrapped === undefined ? raw : Buffer.from(`${wrapped.before ?? ''}${raw}\n${wrapped.after}\n`)
}

/**
 * Strips types from TypeScript. Node warns that the function is experimental. The warning is suppressed, because the
 * Node version is pinned and an operator cannot act on it.
 */
function withoutTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
