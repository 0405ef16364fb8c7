import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { floors } from './floors.ts'

/**
 * Checks the direction of imports, including types, `import(…)`, and files that run in a thread or child process: a
 * folder of src may import itself and the floors below it. Also checks that there are no cycles between files, and that
 * only main.ts reads environment variables.
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
function placeOf(file: string): string {
  const [top, name, ...below] = file.split('/') as [string, string, ...string[]]
  if (top !== 'src') return top
  return below.length > 0 ? name : name.replace(/\.ts$/, '')
}
const floorOf = (place: string, of: typeof floors = floors): number => of.findIndex((floor) => floor.includes(place))
const slices = ['access', ...floors.slice(floorOf('http') + 1, floorOf('storage')).flat()]
const inside = (file: string, ...places: string[]): boolean => places.includes(placeOf(file))
const isRoutes = (file: string): boolean => file.endsWith('routes.ts')

/** The folders of the embedded index, by floor from the ground up; folders of one floor must not import each other. */
const segmentsFloors = [['format'], ['memory'], ['file'], ['query', 'write'], ['threads']]
const segmentsRoom = (file: string): string | null =>
  /^src\/storage\/segments\/(?:([a-z]+)\/)?[^/]+$/.exec(file)?.[1] ?? null

/** The folders of algorithms, and the files through which they are called and write. */
const algorithms = 'src/analysis/algorithms/'
const algorithmPorts = ['src/analysis/algorithm.ts', 'src/analysis/compute/table-file.ts']

interface Import {
  readonly from: string
  readonly to: string
  /** From another package. */
  readonly outside: boolean
  /** Loaded with the file itself: by `import … from`, and not for a type alone. */
  readonly loaded: boolean
}

const rules: { readonly says: string; readonly broken: (one: Import) => boolean }[] = [
  {
    says: 'a place knows itself and the floors below it',
    broken: ({ from, to, outside }) => {
      if (outside || placeOf(from) === placeOf(to)) return false
      return floorOf(placeOf(to)) >= floorOf(placeOf(from))
    },
  },
  {
    says: 'what composes the instance and the command line know adapters as storage/ chooses them; others do not',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(to, 'storage') &&
      !inside(from, 'storage') &&
      !(inside(from, 'compose', 'cli') && /^src\/storage\/[^/]+$/.test(to)),
  },
  {
    says: 'the web is known to http/, to the routes of slices, and to what composes and starts the instance',
    broken: ({ from, to, outside }) =>
      (outside ? framework.test(to) : inside(to, 'http')) &&
      !inside(from, 'http', 'compose', 'cli') &&
      !(isRoutes(from) && inside(from, ...slices)),
  },
  {
    says: 'a room of segments knows itself and the floors below it, never the front of the house',
    broken: ({ from, to, outside }) => {
      const room = segmentsRoom(from)
      if (outside || room === null || !to.startsWith('src/storage/segments/')) return false
      const other = segmentsRoom(to)
      return other !== room && (other === null || floorOf(other, segmentsFloors) >= floorOf(room, segmentsFloors))
    },
  },
  {
    says: 'OpenTelemetry is known to tracing/ alone, which what composes the instance loads where traces are wanted',
    broken: ({ from, to, outside, loaded }) =>
      outside
        ? to.startsWith('@opentelemetry/') && !inside(from, 'tracing')
        : inside(to, 'tracing') && !inside(from, 'tracing') && loaded,
  },
  {
    says: 'text analysis is pure: it imports nothing of the project outside itself',
    broken: ({ from, to, outside }) => !outside && inside(from, 'text') && !inside(to, 'text'),
  },
  {
    says: 'an algorithm of analysis knows what it is given: of the project only algorithms, text analysis and the platform',
    broken: ({ from, to, outside }) =>
      from.startsWith(algorithms) &&
      (outside ? framework.test(to) : !to.startsWith(algorithms) && !algorithmPorts.includes(to)) &&
      !inside(to, 'text', 'platform'),
  },
  {
    says: 'calling threads, processes and foreign servers knows nothing of what they do',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'threads', 'outbound') &&
      !inside(to, placeOf(from)) &&
      !/^src\/platform\/(errors|log|measures)\.ts$/.test(to),
  },
  {
    says: 'a collector and a mirror know the server by its HTTP API alone: of the project they take only pure code',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'feeds', 'mirror') &&
      !inside(to, placeOf(from), 'text', 'outbound', 'document', 'platform', 'settings'),
  },
  {
    says: 'the console speaks HTTP only: it imports itself and libraries for browsers, and nothing imports it',
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
  if (!one.outside && !textOf.has(one.to)) faults.push(`${one.from} imports ${one.to}, which is not there`)
}
for (const [file, text] of textOf) {
  if (/\bimport\(\s*[^'\s)]/.test(text)) faults.push(`${file} imports what cannot be read off: name it in quotes`)
  // A whole environment may be passed to a child process, but only main.ts reads variables. Pages have no environment:
  // a variable there is in sample code.
  if (file !== 'src/main.ts' && !file.startsWith('console/') && /process\.env[.[]/.test(text)) {
    faults.push(`${file} reads a variable of the environment: what is set comes through config.ts or the context`)
  }
}

const places = new Set(files.map(placeOf))
for (const place of places) if (place !== 'console' && floorOf(place) < 0) faults.push(`${place} has no floor`)
for (const place of floors.flat()) if (!places.has(place)) faults.push(`${place} has a floor, and is not there`)

const next = Map.groupBy(
  imports.filter(({ outside }) => !outside),
  ({ from }) => from,
)
const done = new Set<string>()
function findCycle(file: string, path: readonly string[]): void {
  const seenAt = path.indexOf(file)
  if (seenAt >= 0) faults.push(`a cycle: ${[...path.slice(seenAt), file].join(' -> ')}`)
  if (seenAt >= 0 || done.has(file)) return
  for (const { to } of next.get(file) ?? []) findCycle(to, [...path, file])
  done.add(file)
}
for (const file of files) findCycle(file, [])

for (const fault of faults) console.error(fault)
console.log(`${files.length} files, ${imports.length} imports, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
