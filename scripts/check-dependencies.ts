import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { floors } from './floors.ts'

/**
 * The direction of imports, whether of types, by `import(…)`, or of what a thread or child process runs: a place of src
 * knows itself and the floors below it. No cycles between files, and no variable of the environment read but by main.ts.
 * What is started often loads no large library that it can do without.
 *
 * `check-dependencies.ts [FOLDER]` looks at another tree than this one. dependency-cruiser was the first choice; it reads
 * TypeScript through the compiler's JavaScript interface, which the native compiler (7) does not have.
 */
const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const files = globSync(['src/**/*.ts', 'console/**/*.ts'], { cwd: root }).filter((file) => !file.endsWith('.test.ts'))

/** What src/http/console-packages.ts serves. */
const forBrowsers =
  /^(preact(\/hooks)?|@preact\/signals|diff\/lib\/diff\/array\.js|uplot|sigma|graphology|graphology-layout-forceatlas2\/iterate\.js|hyparquet|fzstd)$/

const framework = /^(fastify|@fastify\/.*|commander|pino)$/

/** The first folder below src. Of the files beside those folders some compose the instance, the others serve all. */
function placeOf(file: string): string {
  const [top, name, ...below] = file.split('/') as [string, string, ...string[]]
  if (top !== 'src') return top
  if (below.length > 0) return name
  if (name === 'main.ts') return 'main'
  return /^(compose(-[a-z]+)*|open-parts)\.ts$/.test(name) ? 'compose' : 'small rules'
}
const floorOf = (place: string, of: typeof floors = floors): number => of.findIndex((floor) => floor.includes(place))
const slices = ['access', ...floors.slice(floorOf('http') + 1, floorOf('storage')).flat()]
const inside = (file: string, ...places: string[]): boolean => places.includes(placeOf(file))
const isRoutes = (file: string): boolean => file.endsWith('routes.ts')

/** The rooms of the embedded index, by floor from the ground up; rooms of one floor do not know each other. */
const segmentsFloors = [['format'], ['memory'], ['file'], ['query', 'write'], ['threads']]
const segmentsRoom = (file: string): string | null =>
  /^src\/storage\/segments\/(?:([a-z]+)\/)?[^/]+$/.exec(file)?.[1] ?? null

/** The folders of algorithms, and by what they are called and write. */
const algorithms = 'src/analysis/algorithms/'
const algorithmPorts = ['src/analysis/algorithm.ts', 'src/analysis/compute/table-file.ts']

interface Import {
  readonly from: string
  readonly to: string
  /** Of another package. */
  readonly outside: boolean
  /** By `import … from` or `require`, and not for a type alone: loaded with the file itself. */
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
    says: 'kysely is loaded by storage/sql/kysely.ts, as what is loaded fastest, and once',
    broken: ({ from, to, loaded }) => to === 'kysely' && loaded && from !== 'src/storage/sql/kysely.ts',
  },
  {
    says: 'text analysis is pure: it imports nothing of the project outside itself',
    broken: ({ from, to, outside }) => !outside && inside(from, 'text') && !inside(to, 'text'),
  },
  {
    says: 'an algorithm of analysis knows what it is given: of the project only algorithms, text analysis and small rules',
    broken: ({ from, to, outside }) =>
      from.startsWith(algorithms) &&
      (outside ? framework.test(to) : !to.startsWith(algorithms) && !algorithmPorts.includes(to)) &&
      !inside(to, 'text', 'small rules'),
  },
  {
    says: 'calling threads, processes and foreign servers knows nothing of what they do',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'threads', 'outbound') &&
      !inside(to, placeOf(from)) &&
      !/^src\/(errors|log|measures)\.ts$/.test(to),
  },
  {
    says: 'a collector and a mirror know the server by its HTTP API alone: of the project they take only pure code',
    broken: ({ from, to, outside }) =>
      !outside && inside(from, 'feeds', 'mirror') && !inside(to, placeOf(from), 'text', 'outbound', 'small rules'),
  },
  {
    says: 'the console speaks HTTP only: it imports itself and libraries for browsers, and nothing imports it',
    broken: ({ from, to, outside }) =>
      (inside(from, 'console') && (outside ? !forBrowsers.test(to) : !inside(to, 'console'))) ||
      (!outside && inside(to, 'console') && !inside(from, 'console')),
  },
]

/** What is loaded with a file is its start's CPU: the libraries named here are a tenth of a second each. */
const light: { readonly says: string; readonly start: RegExp; readonly never: RegExp }[] = [
  {
    says: 'a thread does without the library of schemas, which is as much as all else that it loads',
    start: /(-thread|^src\/search\/(present-results|rank-candidates|prepare-portion))\.ts$/,
    never: /^(typebox|ajv|fastify|@fastify)\b/,
  },
  {
    says: 'the process of an analysis run does without the library of schemas: its parameters have been checked',
    start: /^src\/analysis\/(algorithms|compute\/compute-process)\.ts$/,
    never: /^(typebox|ajv|fastify|@fastify)\b/,
  },
  {
    says: 'a thread of the store loads the stems of all languages with the first search that it makes something for',
    start: /^src\/storage\/sqlite\/store-thread\.ts$/,
    never: /^@orama\//,
  },
  {
    says: 'a command that only reads, or says what it is, costs what it loads: schemas are loaded to check what is typed, queries by threads',
    start:
      /^src\/cli\/(serve|start|migrate|apply|import|app|key|usage|collect|collector|mirror|erase|admin|admin-token|cursor-key|doctor|reindex|backup|restore|copy|openapi)\.ts$/,
    never: /^(typebox|ajv|fastify|@fastify|kysely|pg)\b/,
  },
  {
    says: 'a server has queries in threads, and of TypeBox the types alone; what whole libraries bring along, as node:http does fetch, is not needed at a start',
    start: /^src\/cli\/(open-instance|load-sample)\.ts$/,
    never: /^(typebox|kysely|pg|node:http|@aws-sdk\/.*|@fastify\/swagger|@modelcontextprotocol\/.*|yaml|prom-client$)/,
  },
]

const faults: string[] = []
const textOf = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
const imports = files.flatMap(importsOf)

function importsOf(file: string): Import[] {
  const names = textOf
    .get(file)!
    .matchAll(
      /^(?:import|export)\b[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|\bnew URL\(\s*'([^']+\.ts)',\s*import\.meta\.url\s*\)|\brequire\('([^']+)'\)/gm,
    )
  return Array.from(names, ([text, ...found]) => {
    const name = found.find((one) => one !== undefined)!
    // What a URL names is beside the file even where it does not begin with a dot.
    const outside = !name.startsWith('.') && found[3] === undefined
    const loaded = (found[0] ?? found[1] ?? found[4]) !== undefined && !/^(import|export) type\b/.test(text)
    return { from: file, to: outside ? name : normalize(join(dirname(file), name)), outside, loaded }
  })
}

for (const one of imports) {
  for (const { says, broken } of rules) if (broken(one)) faults.push(`${one.from} imports ${one.to}: ${says}`)
  // A text that names what a thread runs is not looked at by the compiler.
  if (!one.outside && !textOf.has(one.to)) faults.push(`${one.from} imports ${one.to}, which is not there`)
}
for (const [file, text] of textOf) {
  if (/\bimport\(\s*[^'\s)]/.test(text)) faults.push(`${file} imports what cannot be read off: name it in quotes`)
  // A whole environment may be handed on to a process that is started; a variable is read by main.ts, and through it.
  // Pages have no environment: where they name one, it is in code that they show.
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
const loads = Map.groupBy(
  imports.filter(({ loaded }) => loaded),
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

for (const { says, start, never } of light) {
  for (const file of files.filter((one) => start.test(one))) {
    const way = wayTo(file, never, new Set())
    if (way !== null) faults.push(`${way.join(' -> ')}: ${says}`)
  }
}
function wayTo(file: string, never: RegExp, seen: Set<string>): readonly string[] | null {
  if (seen.has(file)) return null
  seen.add(file)
  for (const { to, outside } of loads.get(file) ?? []) {
    const way = outside ? (never.test(to) ? [to] : null) : wayTo(to, never, seen)
    if (way !== null) return [file, ...way]
  }
  return null
}

for (const fault of faults) console.error(fault)
console.log(`${files.length} files, ${imports.length} imports, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
