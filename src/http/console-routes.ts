import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { TidemarkError } from '../errors.ts'
import type { TypedApp } from './typed-app.ts'

const folder = new URL('../../console/', import.meta.url)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
}

/** The pages and what they load. Its TypeScript goes out without its types: there is no build, and line numbers hold. */
export function consoleRoutes(app: TypedApp): void {
  const files = new Set(
    globSync('*/*.{css,ts,svg,md}', { cwd: fileURLToPath(folder) }).filter((file) => !file.endsWith('.test.ts')),
  )
  const stripped = new Map<string, string>()
  const read = async (file: string): Promise<Buffer | string> => {
    const known = stripped.get(file)
    if (known !== undefined) return known
    const content = await readFile(new URL(file, folder))
    if (!file.endsWith('.ts')) return content
    const script = withoutTypes(content.toString())
    stripped.set(file, script)
    return script
  }
  const open = (operation: 'pages.landing' | 'pages.docs' | 'pages.asset') =>
    ({ isPublic: true, operation, invalid: 'invalid_request' }) as const
  const page = (url: string, file: string, operation: 'pages.landing' | 'pages.docs') =>
    app.get(url, { config: open(operation), schema: { hide: true } }, async (_request, reply) =>
      reply.type(types['.html']!).send(await read(file)),
    )
  page('/', 'landing.html', 'pages.landing')
  page('/docs', 'reference.html', 'pages.docs')

  app.get(
    '/assets/:folder/:name',
    {
      config: open('pages.asset'),
      schema: { hide: true, params: Type.Object({ folder: Type.String(), name: Type.String() }) },
    },
    async (request, reply) => {
      const file = `${request.params.folder}/${request.params.name}`
      if (!files.has(file)) throw new TidemarkError('not_found', 'there is no such file')
      return reply
        .type(types[extname(file)]!)
        .header('cache-control', 'public, max-age=300')
        .send(await read(file))
    },
  )
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
