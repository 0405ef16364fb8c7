import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshFolder, noVectors } from '../acceptance/harness.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Makes the Node that loads it claim to be an old version. */
const old = `--import=data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})",
)}`

/** The launcher in a package of its own, without any other file. */
function alone(): { readonly folder: string; readonly launcher: string } {
  const folder = join(freshFolder(), 'node_modules', 'tidemark')
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const launcher = join(folder, 'bin', 'tidemark.js')
  for (const file of ['tidemark.js', 'need-node.js']) copyFileSync(join(root, 'bin', file), join(folder, 'bin', file))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  return { folder, launcher }
}

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } })

test('on a Node that is too old, without the one of npm, it says in one line what to do', () => {
  const { status, stdout, stderr } = run([old, alone().launcher, 'serve'])
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(
    stderr,
    /^tidemark: this is Node 20\.1\.0, and Tidemark runs on Node 26, [^\n]+: npm rebuild node --ignore-scripts=false\n$/,
  )
})

test('where the embedded index cannot run, the server says so in one sentence and ends', {
  skip: process.arch !== 'x64' && 'the flag that hides SIMD is for x86-64',
}, () => {
  const folder = freshFolder()
  const args = ['--no-enable-sse4-1', join(root, 'bin', 'tidemark.js'), 'serve', '--port', '0', '--data-dir', folder]
  const { status, stderr } = run(args, noVectors)
  assert.equal(status, 1)
  assert.match(stderr, /^tidemark: the embedded search index cannot run here: it needs WebAssembly with SIMD [^\n]+\n$/)
})

test('scripts of npm that run TypeScript begin with the same line', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [name, script] of Object.entries(scripts).filter(([, one]) => /\.[jt]s\b/.test(one))) {
    assert.match(script, /^node (bin\/tidemark\.js|bin\/need-node\.js && )/, name)
  }
  const refused = run([old, join(root, 'bin', 'need-node.js')])
  assert.equal(refused.status, 1)
  assert.match(refused.stderr, /^tidemark: this is Node 20\.1\.0, [^\n]+: npm rebuild node --ignore-scripts=false\n$/)
  assert.equal(run([join(root, 'bin', 'need-node.js')]).status, 0)
})

test('on a Node that is too old it hands over to the one of npm, beside it or above it', () => {
  for (const place of [['node_modules'], ['..']]) {
    const { folder, launcher } = alone()
    const brought = join(folder, ...place, 'node', 'bin', 'node')
    mkdirSync(dirname(brought), { recursive: true })
    writeFileSync(brought, '#!/bin/sh\necho "$@"\nexit 7\n')
    chmodSync(brought, 0o755)
    const { status, stdout } = run(['--no-warnings', old, launcher, 'import', 'a file'])
    assert.equal(status, 7)
    assert.equal(stdout, `--no-warnings ${old} ${launcher} import a file\n`)
  }
})

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

test('a server that it handed over to ends in its usual way when the launcher is killed, and its port is free', async () => {
  const { folder, launcher } = alone()
  const brought = join(folder, 'node_modules', 'node', 'bin', 'node')
  mkdirSync(dirname(brought), { recursive: true })
  // Without the flag that fakes an old Node, and with all of Tidemark.
  const real = join(root, 'bin', 'tidemark.js')
  writeFileSync(brought, `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${real}" "$@"\n`)
  chmodSync(brought, 0o755)
  const dataDir = freshFolder()
  const env = { ...process.env, TIDEMARK_DATA_DIR: dataDir, TIDEMARK_PORT: '0', ...noVectors }
  const child = spawn(process.execPath, [old, launcher, 'serve'], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const address = await new Promise<string>((resolve, reject) => {
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text
        const [, found] = /^Tidemark serves (http:\S+)$/m.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
      child.once('close', (code) => reject(new Error(`it ended with ${code}: ${said}`)))
    })
    assert.ok(existsSync(join(dataDir, 'tidemark.sqlite-wal')))
    // The pipe stays open while any process can write to it; after the launcher is gone, that is the server.
    const closed = once(child, 'close', { signal: AbortSignal.timeout(60_000) })
    child.kill('SIGKILL')
    await closed
    assert.ok(!existsSync(join(dataDir, 'tidemark.sqlite-wal')), 'the store was closed')
    const listener = createServer().listen(Number(new URL(address).port), '127.0.0.1')
    await once(listener, 'listening')
    listener.close()
  } finally {
    endGroup(child.pid!)
  }
})

test('paths are meant from where the caller of npm stood', () => {
  const stood = freshFolder()
  const env = { npm_package_name: 'tidemark', INIT_CWD: stood, TIDEMARK_DATA_DIR: 'kept' }
  const { status, stderr } = run([join(root, 'bin', 'tidemark.js'), 'migrate'], env)
  assert.equal(status, 0, stderr)
  assert.ok(existsSync(join(stood, 'kept', 'tidemark.sqlite')))
})
