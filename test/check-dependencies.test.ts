import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const script = join(import.meta.dirname, '../scripts/check-dependencies.ts')

/** Runs the check on a tree of these files. Leaves out faults about missing folders. */
function faultsOf(tree: Record<string, string>): { status: number | null; faults: string[] } {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-tree-'))
  try {
    for (const [file, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), text)
    }
    const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' })
    const faults = stderr.split('\n').filter((line) => line !== '' && !line.endsWith('has a floor, and is not there'))
    return { status, faults }
  } finally {
    rmSync(root, { recursive: true })
  }
}

const upward = 'a place knows itself and the floors below it'

test('imports downward and within a place are no fault', () => {
  const { faults } = faultsOf({
    'src/platform/errors.ts': '',
    'src/http/route.ts': "import { a } from '../platform/errors.ts'",
    'src/live/routes.ts': "import { b } from '../http/route.ts'\nimport fastify from 'fastify'",
    'src/search/searcher.ts': "import {\n  c,\n} from '../live/routes.ts'\nimport './fuse.ts'",
    'src/search/fuse.ts': "export type { E } from '../platform/errors.ts'",
    'src/compose/compose.ts': "import { d } from '../storage/open.ts'",
    'src/storage/open.ts': "new Worker(new URL('./thread.ts', import.meta.url))",
    'src/storage/thread.ts': '',
  })
  assert.deepEqual(faults, [])
})

for (const [how, text] of [
  ['of a type', "import type { Searcher } from '../search/searcher.ts'"],
  ['handed on', "export { Searcher } from '../search/searcher.ts'"],
  ['awaited', "const { Searcher } = await import('../search/searcher.ts')"],
  ['awaited, over two lines', "const { Searcher } = await import(\n  '../search/searcher.ts'\n)"],
  ['in the place of a type', "let one: import('../search/searcher.ts').Searcher"],
  ['of what a thread runs', "new Worker(new URL('../search/searcher.ts', import.meta.url))"],
] as const) {
  test(`an import upward is a fault: ${how}`, () => {
    const { status, faults } = faultsOf({ 'src/live/states.ts': text, 'src/search/searcher.ts': '' })
    assert.deepEqual(faults, [`src/live/states.ts imports src/search/searcher.ts: ${upward}`])
    assert.equal(status, 1)
  })
}

test('nothing but the command line and main knows what composes the instance', () => {
  const { faults } = faultsOf({
    'src/compose/compose.ts': '',
    'src/compose/search.ts': "import './store.ts'",
    'src/compose/store.ts': '',
    'src/cli/serve.ts': "import '../compose/compose.ts'",
    'src/main.ts': "import './cli/serve.ts'",
    'src/worker/indexing.ts': "import '../compose/search.ts'",
    'src/platform/ids.ts': "import '../compose/open-parts.ts'",
    'src/compose/open-parts.ts': '',
  })
  assert.deepEqual(faults.sort(), [
    `src/platform/ids.ts imports src/compose/open-parts.ts: ${upward}`,
    `src/worker/indexing.ts imports src/compose/search.ts: ${upward}`,
  ])
})

test('the web is known to http, routes, and what composes and starts the instance', () => {
  const { faults } = faultsOf({
    'src/http/server.ts': "import 'fastify'",
    'src/live/routes.ts': "import '../http/server.ts'",
    'src/cli/serve.ts': "import 'commander'",
    'src/live/states.ts': "import '../http/server.ts'",
    'src/worker/live.ts': "import type { FastifyBaseLogger } from 'fastify'",
    'src/storage/routes.ts': "import 'fastify'",
    'src/platform/incidents.ts': "import 'pino'",
  })
  const says = 'the web is known to http/, to the routes of slices, and to what composes and starts the instance'
  assert.deepEqual(faults.sort(), [
    `src/live/states.ts imports src/http/server.ts: ${says}`,
    `src/platform/incidents.ts imports pino: ${says}`,
    `src/storage/routes.ts imports fastify: ${says}`,
    `src/worker/live.ts imports fastify: ${says}`,
  ])
})

test('which technology is used is chosen in storage/: what composes and the commands know no folder of one', () => {
  const { faults } = faultsOf({
    'src/compose/compose.ts': "import '../storage/backends.ts'\nimport '../storage/sqlite/open.ts'",
    'src/cli/copy.ts': "import '../storage/sqlite/open.ts'",
    'src/storage/backends.ts': "import './sqlite/open.ts'",
    'src/storage/sqlite/open.ts': '',
  })
  const says = 'what composes the instance and the command line know adapters as storage/ chooses them; others do not'
  assert.deepEqual(faults.sort(), [
    `src/cli/copy.ts imports src/storage/sqlite/open.ts: ${says}`,
    `src/compose/compose.ts imports src/storage/sqlite/open.ts: ${says}`,
  ])
})

test('places of one floor do not know each other, and a new place needs a floor', () => {
  const { faults } = faultsOf({
    'src/worker/live.ts': "import '../storage/files.ts'",
    'src/storage/files.ts': '',
    'src/novelty/thing.ts': '',
  })
  assert.ok(faults.includes(`src/worker/live.ts imports src/storage/files.ts: ${upward}`), faults.join('\n'))
  assert.ok(faults.includes('novelty has no floor'), faults.join('\n'))
})

test('an algorithm knows what it is given, and nothing of store or web', () => {
  const says =
    'an algorithm of analysis knows what it is given: of the project only algorithms, text analysis and the platform'
  const one = 'src/analysis/algorithms/clustering/clustering.ts'
  const imports = [
    '../knn-graph/exact.ts',
    '../../algorithm.ts',
    '../../compute/table-file.ts',
    '../../../text/words.ts',
    '../../../platform/errors.ts',
    '../../analysis-store.ts',
    '../../../access/scope.ts',
    'fastify',
    'typebox',
  ]
  const { faults } = faultsOf({
    [one]: imports.map((name) => `import '${name}'`).join('\n'),
    'src/analysis/algorithms/knn-graph/exact.ts': '',
    'src/analysis/algorithm.ts': '',
    'src/analysis/compute/table-file.ts': '',
    'src/analysis/analysis-store.ts': '',
    'src/access/scope.ts': '',
    'src/text/words.ts': '',
    'src/platform/errors.ts': '',
  })
  assert.deepEqual(
    faults.filter((fault) => fault.endsWith(says)),
    ['src/analysis/analysis-store.ts', 'src/access/scope.ts', 'fastify'].map((to) => `${one} imports ${to}: ${says}`),
  )
})

test('what cannot be read off, is not there, goes in circles or reads the environment is a fault', () => {
  const { faults } = faultsOf({
    'src/text/a.ts': "import './b.ts'",
    'src/text/b.ts': "import './a.ts'",
    'src/fair-queue/hidden.ts': 'await import(name)',
    'src/fair-queue/gone.ts': "new URL('thread.ts', import.meta.url)",
    'src/fair-queue/setting.ts': 'process.env.HOME',
  })
  assert.deepEqual(faults.sort(), [
    'a cycle: src/text/a.ts -> src/text/b.ts -> src/text/a.ts',
    'src/fair-queue/gone.ts imports src/fair-queue/thread.ts, which is not there',
    'src/fair-queue/hidden.ts imports what cannot be read off: name it in quotes',
    'src/fair-queue/setting.ts reads a variable of the environment: what is set comes through config.ts or the context',
  ])
})

test('a tree of nothing does not pass', () => {
  assert.equal(faultsOf({}).status, 1)
})

test('OpenTelemetry is known to its folder alone, and that is loaded only where traces are wanted', () => {
  const says =
    'OpenTelemetry is known to tracing/ alone, which what composes the instance loads where traces are wanted'
  const { faults } = faultsOf({
    'src/tracing/open.ts': "import { trace } from '@opentelemetry/api'\nimport './spans.ts'",
    'src/tracing/spans.ts': '',
    'src/compose/compose.ts': "const { open } = await import('../tracing/open.ts')",
    'src/compose/search.ts': "import { open } from '../tracing/open.ts'",
    'src/search/searcher.ts': "import type { Span } from '@opentelemetry/api'",
  })
  assert.deepEqual(faults.sort(), [
    `src/compose/search.ts imports src/tracing/open.ts: ${says}`,
    `src/search/searcher.ts imports @opentelemetry/api: ${says}`,
  ])
})
