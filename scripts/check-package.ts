/**
 * Checks that the published package works: makes it, installs it in an empty folder as users do, starts it with
 * `tidemark start`, and sends requests. Prints its size.
 *
 *   npx node scripts/check-package.ts
 */
import { execFileSync, spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePackage } from './make-package.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-installed-'))
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
try {
  const file = makePackage(folder)
  const installed = join(folder, 'empty')
  mkdirSync(installed)
  // Leaves out the settings of this checkout, and the Node that npm scripts put first in PATH.
  const PATH = process.env
    .PATH!.split(':')
    .filter((one) => !one.includes('node_modules'))
    .join(':')
  const env = Object.fromEntries(
    Object.entries({ ...process.env, PATH }).filter(
      ([name]) => !/^(npm_(?!config_)|TIDEMARK_|NODE_COMPILE_CACHE|INIT_CWD)/.test(name),
    ),
  )
  writeFileSync(join(installed, 'package.json'), '{"private": true}\n')
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', file]
  execFileSync('npm', install, { cwd: installed, env, stdio: ['ignore', 'ignore', 'inherit'] })

  // Files with several names (hard links) count once.
  const sizes = new Map<number, number>()
  for (const one of globSync('node_modules/**', { cwd: installed, withFileTypes: true })) {
    if (!one.isFile()) continue
    const { ino, size } = statSync(join(one.parentPath, one.name))
    sizes.set(ino, size)
  }
  const size = sizes.values().reduce((sum, one) => sum + one, 0)
  const tests = globSync('node_modules/tidemark/**/*.test.*', { cwd: installed })
  if (tests.length > 0) throw new Error(`the package contains tests: ${tests[0]}`)

  await tryOut(installed, env)
  console.log(`the package (${megabytes(statSync(file).size)}, ${megabytes(size)} installed) starts and answers`)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

/** Starts it with the sample, searches as the greeting shows, opens the console, and stops it. */
async function tryOut(folder: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const args = ['start', '--port', '0', '--data-dir', join(folder, 'data')]
  const child = spawn(join(folder, 'node_modules', '.bin', 'tidemark'), args, { cwd: folder, env, stdio: 'pipe' })
  let printed = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding('utf8').on('data', (text) => (printed += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    const greeted = new Promise<void>((resolve) => {
      child.stdout.on('data', () => printed.includes('Ctrl-C stops it') && resolve())
    })
    await Promise.race([
      greeted,
      ended.then((code) => {
        throw new Error(`tidemark start ended with ${code}: ${printed}`)
      }),
    ])
    const address = /Tidemark is up at (http:\/\/[^\s/]+)/.exec(printed)![1]!
    const key = /tmc_\w+/.exec(printed)![0]
    const search = await fetch(`${address}/v1/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'tidal power', mode: 'hybrid', limit: 3 }),
    })
    const found = (await search.json()) as { results?: unknown[]; warnings?: unknown[] }
    if (found.results?.length !== 3 || found.warnings?.length !== 0) throw new Error(JSON.stringify(found))
    const listed = await fetch(`${address}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    for (const [what, { status }] of Object.entries({ console: await fetch(address), agents: listed })) {
      if (status !== 200) throw new Error(`${what}: ${status}`)
    }
  } finally {
    child.kill('SIGTERM')
  }
  const code = await ended
  if (code !== 0) throw new Error(`tidemark start did not stop with 0 but with ${code}: ${printed}`)
}
