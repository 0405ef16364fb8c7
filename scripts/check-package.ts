/**
 * Checks that the published package works: makes it, installs it into an empty folder as users do, starts it with
 * `tidemark start` and sends requests. Prints its size.
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
  const place = join(folder, 'empty')
  mkdirSync(place)
  // Without the settings of this checkout, and without the Node that its scripts put first in PATH.
  const PATH = process.env
    .PATH!.split(':')
    .filter((one) => !one.includes('node_modules'))
    .join(':')
  const env = Object.fromEntries(
    Object.entries({ ...process.env, PATH }).filter(
      ([name]) => !/^(npm_(?!config_)|TIDEMARK_|NODE_COMPILE_CACHE|INIT_CWD)/.test(name),
    ),
  )
  writeFileSync(join(place, 'package.json'), '{"private": true}\n')
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', file]
  execFileSync('npm', install, { cwd: place, env, stdio: ['ignore', 'ignore', 'inherit'] })

  // Files with several names (hard links) count once.
  const sizes = new Map<number, number>()
  for (const one of globSync('node_modules/**', { cwd: place, withFileTypes: true })) {
    if (!one.isFile()) continue
    const { ino, size } = statSync(join(one.parentPath, one.name))
    sizes.set(ino, size)
  }
  const size = sizes.values().reduce((sum, one) => sum + one, 0)
  const strange = globSync('node_modules/tidemark/**/*.test.*', { cwd: place })
  if (strange.length > 0) throw new Error(`tests are in the package: ${strange[0]}`)

  await ask(place, env)
  console.log(`the package (${megabytes(statSync(file).size)}, ${megabytes(size)} installed) starts and answers`)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

/** Starts it with the sample, searches as the greeting shows, opens the console, and stops it. */
async function ask(place: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const args = ['start', '--port', '0', '--data-dir', join(place, 'data')]
  const child = spawn(join(place, 'node_modules', '.bin', 'tidemark'), args, { cwd: place, env, stdio: 'pipe' })
  let said = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding('utf8').on('data', (text) => (said += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    const greeted = new Promise<void>((resolve) => {
      child.stdout.on('data', () => said.includes('Ctrl-C stops it') && resolve())
    })
    await Promise.race([
      greeted,
      ended.then((code) => {
        throw new Error(`it ended with ${code}: ${said}`)
      }),
    ])
    const address = /Tidemark is up at (http:\/\/[^\s/]+)/.exec(said)![1]!
    const key = /tmc_\w+/.exec(said)![0]
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
  if (code !== 0) throw new Error(`it did not end as it should (${code}): ${said}`)
}
