import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { layers } from './layers.ts'

/**
 * Checks the direction of imports: a folder of src may import itself and the layers below it. Imports of types,
 * `import(…)`, and files that run in a thread or child process count too. Also checks that there are no import cycles
 * between files, and that only main.ts reads environment variables.
 *
 * `check-dependencies.ts [FOLDER]` checks another tree than this one. dependency-cruiser was rejected: it reads
 * TypeScript through the compiler's JavaScript interface, which the native compiler (7) does not have.
 */
const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const files = globSync(['src/**/*.ts', 'console/**/*.ts'], { cwd: root }).filter((file) => !file.endsWith('.test.ts'))

/** The packages that src/http/console-packages.ts serves. */
const forBrowsers =
  /^(preact(\/hooks)?|@preact\/signals|diff\/lib\/diff\/array\.js|uplot|sigma|graphology|graphology-layout-forceatlas2\/iterate\.js|hyparquet|fzstd)$/

const framework = /^(fastify|@fastify\/.*|commander|pino)$/

/** The first folder below src; `main` is the one file beside the folders. */
function folderOf(file: string): string {
  const [top, name, ...below] = file.split('/') as [string, string, ...string[]]
  if (top !== 'src') return top
  return below.length > 0 ? name : name.replace(/\.ts$/, '')
}
const layerOf = (folder: string, of: typeof layers = layers): number => of.findIndex((layer) => layer.includes(folder))
const slices = ['access', ...layers.slice(layerOf('http') + 1, layerOf('storage')).flat()]
const inside = (file: string, ...folders: string[]): boolean => folders.includes(folderOf(file))
const isRoutes = (file: string): boolean => file.endsWith('routes.ts')

/** The layers of folders of the embedded index, lowest first. Folders of one layer must not import each other. */
const segmentsLayers = [['format'], ['memory'], ['file'], ['query', 'write'], ['threads']]
const segmentsFolderOf = (file: string): string | null =>
  /^src\/storage\/segments\/(?:([a-z]+)\/)?[^/]+$/.exec(file)?.[1] ?? null

/** The folders of algorithms, and the files through which they are called and write. */
const algorithms = 'src/analysis/algorithms/'
const algorithmPorts = ['src/analysis/algorithm.ts', 'src/analysis/compute/table-file.ts']

interface Import {
  readonly from: string
  readonly to: string
  /** From another package. */
  readonly outside: boolean
  /** Loaded together with the file: by `import … from`, and not only for types. */
  readonly loaded: boolean
}

const rules: { readonly says: string; readonly broken: (one: Import) => boolean }[] = [
  {
    says: 'a folder may import only itself and the layers below it',
    broken: ({ from, to, outside }) => {
      if (outside || folderOf(from) === folderOf(to)) return false
      return layerOf(folderOf(to)) >= layerOf(folderOf(from))
    },
  },
  {
    says: 'only compose/ and cli/ may import storage/, and only its top-level files, which choose the adapters',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(to, 'storage') &&
      !inside(from, 'storage') &&
      !(inside(from, 'compose', 'cli') && /^src\/storage\/[^/]+$/.test(to)),
  },
  {
    says: 'only http/, compose/, cli/ and the routes of a slice may import the web framework or http/',
    broken: ({ from, to, outside }) =>
      (outside ? framework.test(to) : inside(to, 'http')) &&
      !inside(from, 'http', 'compose', 'cli') &&
      !(isRoutes(from) && inside(from, ...slices)),
  },
  {
    says: 'a subfolder of segments/ may import only itself and the layers below it, never the files at the top of segments/',
    broken: ({ from, to, outside }) => {
      const folder = segmentsFolderOf(from)
      if (outside || folder === null || !to.startsWith('src/storage/segments/')) return false
      const other = segmentsFolderOf(to)
      return other !== folder && (other === null || layerOf(other, segmentsLayers) >= layerOf(folder, segmentsLayers))
    },
  },
  {
    says: 'only tracing/ may import OpenTelemetry, and others may load tracing/ only by a dynamic import',
    broken: ({ from, to, outside, loaded }) =>
      outside
        ? to.startsWith('@opentelemetry/') && !inside(from, 'tracing')
        : inside(to, 'tracing') && !inside(from, 'tracing') && loaded,
  },
  {
    says: 'text/ is pure: it may import nothing else of the project',
    broken: ({ from, to, outside }) => !outside && inside(from, 'text') && !inside(to, 'text'),
  },
  {
    says: 'an analysis algorithm may import only algorithms, their ports, text/ and platform/',
    broken: ({ from, to, outside }) =>
      from.startsWith(algorithms) &&
      (outside ? framework.test(to) : !to.startsWith(algorithms) && !algorithmPorts.includes(to)) &&
      !inside(to, 'text', 'platform'),
  },
  {
    says: 'threads/ and outbound/ may not depend on what they call',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'threads', 'outbound') &&
      !inside(to, folderOf(from)) &&
      !/^src\/platform\/(errors|log|measures)\.ts$/.test(to),
  },
  {
    says: 'feeds/ and mirror/ use the server only over HTTP, and may import only pure code of the project',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'feeds', 'mirror') &&
      !inside(to, folderOf(from), 'text', 'outbound', 'document', 'platform', 'settings'),
  },
  {
    says: 'the console uses only HTTP: it may import only itself and libraries for browsers, and nothing may import it',
    broken: ({ from, to, outside }) =>
      (inside(from, 'console') && (outside ? !forBrowsers.test(to) : !inside(to, 'console'))) ||
      (!outside && inside(to, 'console') && !inside(from, 'console')),
  },
]

const faults: string[] = []
const textOf = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
const imports = files.flatMap(importsOf)

function importsOf(file: string): Import[] {
  const names = textOf
    .get(file)!
    .matchAll(
      /^(?:import|export)\b[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|\bnew URL\(\s*'([^']+\.ts)',\s*import\.meta\.url\s*\)/gm,
    )
  return Array.from(names, ([text, ...found]) => {
    const name = found.find((one) => one !== undefined)!
    // The file in a `new URL` is relative even without a leading dot.
    const outside = !name.startsWith('.') && found[3] === undefined
    const loaded = (found[0] ?? found[1]) !== undefined && !/^(import|export) type\b/.test(text)
    return { from: file, to: outside ? name : normalize(join(dirname(file), name)), outside, loaded }
  })
}

for (const one of imports) {
  for (const { says, broken } of rules) if (broken(one)) faults.push(`${one.from} imports ${one.to}: ${says}`)
  // The compiler does not check a string that names the file of a thread.
  if (!one.outside && !textOf.has(one.to)) faults.push(`${one.from} imports ${one.to}, which does not exist`)
}
for (const [file, text] of textOf) {
  if (/\bimport\(\s*[^'\s)]/.test(text))
    faults.push(`${file} imports a file whose name is not a literal: write the name in quotes`)
  // A whole environment may be passed to a child process, but only main.ts reads variables. Pages have no environment:
  // a variable there is in sample code.
  if (file !== 'src/main.ts' && !file.startsWith('console/') && /process\.env[.[]/.test(text)) {
    faults.push(`${file} reads an environment variable: get settings from config.ts or the context`)
  }
}

const folders = new Set(files.map(folderOf))
for (const folder of folders) if (folder !== 'console' && layerOf(folder) < 0) faults.push(`${folder} is in no layer`)
for (const folder of layers.flat()) if (!folders.has(folder)) faults.push(`${folder} is in a layer, but does not exist`)

const next = Map.groupBy(
  imports.filter(({ outside }) => !outside),
  ({ from }) => from,
)
const done = new Set<string>()
function findCycle(file: string, path: readonly string[]): void {
  const seenAt = path.indexOf(file)
  if (seenAt >= 0) faults.push(`import cycle: ${[...path.slice(seenAt), file].join(' -> ')}`)
  if (seenAt >= 0 || done.has(file)) return
  for (const { to } of next.get(file) ?? []) findCycle(to, [...path, file])
  done.add(file)
}
for (const file of files) findCycle(file, [])

for (const fault of faults) console.error(fault)
console.log(`${files.length} files, ${imports.length} imports, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
