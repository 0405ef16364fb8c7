import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshFolder } from '../acceptance/harness.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Makes the Node that runs it say that it is an old one. */
const old = `--import=data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})",
)}`

/** The launcher in a package of its own, in which nothing else is. */
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

test('scripts of npm that run TypeScript begin with the same line', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [name, script] of Object.entries(scripts).filter(([, one]) => /\.[jt]s\b/.test(one))) {
    assert.match(script, /^node ((--\S+ )*bin\/tidemark\.js|bin\/need-node\.js && )/, name)
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
    const { status, stdout } = run(['--max-semi-space-size=8', old, launcher, 'import', 'a file'])
    assert.equal(status, 7)
    assert.equal(stdout, `--max-semi-space-size=8 ${old} ${launcher} import a file\n`)
  }
})

test('paths are meant from where the caller of npm stood', () => {
  const stood = freshFolder()
  const env = { npm_package_name: 'tidemark', INIT_CWD: stood, TIDEMARK_DATA_DIR: 'kept' }
  const { status, stderr } = run([join(root, 'bin', 'tidemark.js'), 'migrate'], env)
  assert.equal(status, 0, stderr)
  assert.ok(existsSync(join(stood, 'kept', 'tidemark.sqlite')))
})

test('a server shares two arenas of the allocator and gives large buffers back, in the same process and with the same flags; what is set stays', {
  skip: process.platform !== 'linux',
}, () => {
  const { folder, launcher } = alone()
  mkdirSync(join(folder, 'dist'))
  const program = `const { MALLOC_ARENA_MAX: arenas, MALLOC_MMAP_THRESHOLD_: bound, MALLOC_TRIM_THRESHOLD_: kept } = process.env
    console.log(JSON.stringify([process.pid, [arenas, bound, kept], process.execArgv, process.argv.slice(2)]))`
  writeFileSync(join(folder, 'dist', 'main.js'), program)
  const flag = '--max-semi-space-size=8'
  const { MALLOC_ARENA_MAX: _, MALLOC_MMAP_THRESHOLD_: __, MALLOC_TRIM_THRESHOLD_: ___, ...rest } = process.env
  for (const [args, set, sizes] of [
    [['serve', '--a b'], undefined, ['2', '1048576', '2097152']],
    [['start'], '4', ['4', null, null]],
    [['migrate'], undefined, [null, null, null]],
  ] as const) {
    const env = set === undefined ? rest : { ...rest, MALLOC_ARENA_MAX: set }
    const { pid, stdout, stderr } = spawnSync(process.execPath, [flag, launcher, ...args], { encoding: 'utf8', env })
    assert.deepEqual([JSON.parse(stdout), stderr], [[pid, sizes, [flag], args], ''])
  }
})

test('threads have less room for short-lived objects than the main thread', () => {
  const { folder, launcher } = alone()
  mkdirSync(join(folder, 'dist'))
  // Objects that live a little while make the room grow as far as it may.
  const program = `import { getHeapSpaceStatistics } from 'node:v8'
    import { isMainThread, Worker } from 'node:worker_threads'
    let kept = []
    for (let i = 0; i < 3_000_000; i++) {
      if (i % 100_000 === 0) kept = []
      kept.push({ i })
    }
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size)
    if (isMainThread) new Worker(new URL(import.meta.url))`
  writeFileSync(join(folder, 'dist', 'main.js'), program)
  const { stdout, stderr } = run(['--max-semi-space-size=8', launcher, 'migrate'])
  assert.equal(stderr, '')
  const [main = 0, thread = 0] = stdout.split('\n').map((bytes) => Number(bytes) / 1024 / 1024)
  assert.ok(main > 8 && main <= 16 && thread > 0 && thread <= 8, `main thread ${main} MB, other ${thread} MB`)
})
