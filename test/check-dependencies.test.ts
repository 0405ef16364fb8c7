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
    const faults = stderr
      .split('\n')
      .filter((line) => line !== '' && !line.endsWith('is in a layer, but does not exist'))
    return { status, faults }
  } finally {
    rmSync(root, { recursive: true })
  }
}

const upward = 'a folder may import only itself and the layers below it'

test('imports downward and within a folder are no fault', () => {
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
  ['as a type', "let one: import('../search/searcher.ts').Searcher"],
  ['of what a thread runs', "new Worker(new URL('../search/searcher.ts', import.meta.url))"],
] as const) {
  test(`an import upward is a fault: ${how}`, () => {
    const { status, faults } = faultsOf({ 'src/live/states.ts': text, 'src/search/searcher.ts': '' })
    assert.deepEqual(faults, [`src/live/states.ts imports src/search/searcher.ts: ${upward}`])
    assert.equal(status, 1)
  })
}

test('only the command line and main may import compose/', () => {
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

test('only http/, compose/, cli/ and routes may import the web framework', () => {
  const { faults } = faultsOf({
    'src/http/server.ts': "import 'fastify'",
    'src/live/routes.ts': "import '../http/server.ts'",
    'src/cli/serve.ts': "import 'commander'",
    'src/live/states.ts': "import '../http/server.ts'",
    'src/worker/live.ts': "import type { FastifyBaseLogger } from 'fastify'",
    'src/storage/routes.ts': "import 'fastify'",
    'src/platform/incidents.ts': "import 'pino'",
  })
  const says = 'only http/, compose/, cli/ and the routes of a slice may import the web framework or http/'
  assert.deepEqual(faults.sort(), [
    `src/live/states.ts imports src/http/server.ts: ${says}`,
    `src/platform/incidents.ts imports pino: ${says}`,
    `src/storage/routes.ts imports fastify: ${says}`,
    `src/worker/live.ts imports fastify: ${says}`,
  ])
})

test('storage/ chooses the technology: compose/ and cli/ may not import the folder of one', () => {
  const { faults } = faultsOf({
    'src/compose/compose.ts': "import '../storage/backends.ts'\nimport '../storage/sqlite/open.ts'",
    'src/cli/copy.ts': "import '../storage/sqlite/open.ts'",
    'src/storage/backends.ts': "import './sqlite/open.ts'",
    'src/storage/sqlite/open.ts': '',
  })
  const says = 'only compose/ and cli/ may import storage/, and only its top-level files, which choose the adapters'
  assert.deepEqual(faults.sort(), [
    `src/cli/copy.ts imports src/storage/sqlite/open.ts: ${says}`,
    `src/compose/compose.ts imports src/storage/sqlite/open.ts: ${says}`,
  ])
})

test('folders of one layer may not import each other, and a new folder needs a layer', () => {
  const { faults } = faultsOf({
    'src/worker/live.ts': "import '../storage/files.ts'",
    'src/storage/files.ts': '',
    'src/novelty/thing.ts': '',
  })
  assert.ok(faults.includes(`src/worker/live.ts imports src/storage/files.ts: ${upward}`), faults.join('\n'))
  assert.ok(faults.includes('novelty is in no layer'), faults.join('\n'))
})

test('an algorithm may not import a store or the web framework', () => {
  const says = 'an analysis algorithm may import only algorithms, their ports, text/ and platform/'
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

test('a computed import, a missing file, an import cycle and a read of the environment are faults', () => {
  const { faults } = faultsOf({
    'src/text/a.ts': "import './b.ts'",
    'src/text/b.ts': "import './a.ts'",
    'src/fair-queue/hidden.ts': 'await import(name)',
    'src/fair-queue/gone.ts': "new URL('thread.ts', import.meta.url)",
    'src/fair-queue/setting.ts': 'process.env.HOME',
  })
  assert.deepEqual(faults.sort(), [
    'import cycle: src/text/a.ts -> src/text/b.ts -> src/text/a.ts',
    'src/fair-queue/gone.ts imports src/fair-queue/thread.ts, which does not exist',
    'src/fair-queue/hidden.ts imports a file whose name is not a literal: write the name in quotes',
    'src/fair-queue/setting.ts reads an environment variable: get settings from config.ts or the context',
  ])
})

test('an empty tree does not pass', () => {
  assert.equal(faultsOf({}).status, 1)
})

test('only tracing/ may import OpenTelemetry, and tracing/ is loaded only by a dynamic import', () => {
  const says = 'only tracing/ may import OpenTelemetry, and others may load tracing/ only by a dynamic import'
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
