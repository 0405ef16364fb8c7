import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/**
 * The direction of imports, types included:
 *
 *   main -> cli -> compose -> http | worker | storage -> slices -> ports
 *
 * no cycles between files, and no variable of the environment read but by main.ts. dependency-cruiser was the first
 * choice; it reads TypeScript through the compiler's JavaScript interface, which the native compiler (7) does not have.
 */
const root = new URL('..', import.meta.url).pathname
const files = globSync(['src/**/*.ts', 'console/**/*.ts'], { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
const slices = [
  'access',
  'operator',
  'ingest',
  'embedding',
  'search',
  'catalog',
  'changes',
  'live',
  'analysis',
  'feeds',
]
const framework = /^(fastify|@fastify\/.*|commander|pino)$/

interface Import {
  readonly from: string
  readonly to: string
  readonly outside: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found: Import[] = []
  for (const match of text.matchAll(
    /^(?:import|export)\b[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|new URL\('(\.[^']+\.ts)'/gm,
  )) {
    const name = (match[1] ?? match[2] ?? match[3])!
    if (name.startsWith('.')) found.push({ from: file, to: normalize(join(dirname(file), name)), outside: false })
    else found.push({ from: file, to: name, outside: true })
  }
  return found
}

/** The first folder below src, or the file's own name at the top; all of console/ is one place. */
const placeOf = (file: string): string => (file.startsWith('console/') ? 'console' : file.split('/')[1]!)
const inside = (file: string, place: string): boolean => placeOf(file) === place
const isSlice = (file: string): boolean => slices.includes(placeOf(file))
const isRoutes = (file: string): boolean => file.endsWith('routes.ts')

/** The rooms of the embedded index, by floor from the ground up; rooms of one floor do not know each other. */
const segmentsFloors = [['format'], ['memory'], ['file'], ['query', 'write'], ['threads']]
const segmentsRoom = (file: string): string | null =>
  /^src\/storage\/segments\/(?:([a-z]+)\/)?[^/]+$/.exec(file)?.[1] ?? null
const segmentsFloor = (room: string): number => segmentsFloors.findIndex((floor) => floor.includes(room))

const rules: { readonly says: string; readonly broken: (one: Import) => boolean }[] = [
  {
    says: 'only compose.ts, the command line and the adapters themselves know adapters',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(to, 'storage') &&
      !inside(from, 'storage') &&
      !placeOf(from).startsWith('compose') &&
      !inside(from, 'cli'),
  },
  {
    says: 'a slice speaks to the web only in its routes.ts',
    broken: ({ from, to, outside }) =>
      isSlice(from) && !isRoutes(from) && (outside ? framework.test(to) : inside(to, 'http')),
  },
  {
    says: 'http holds no business rule: of the slices it knows access alone',
    broken: ({ from, to, outside }) => !outside && inside(from, 'http') && isSlice(to) && !inside(to, 'access'),
  },
  {
    says: 'adapters know ports and pure code, never http, cli or compose',
    broken: ({ from, to, outside }) =>
      inside(from, 'storage') &&
      (outside ? framework.test(to) : ['http', 'cli', 'compose.ts', 'main.ts', 'worker'].includes(placeOf(to))),
  },
  {
    says: 'a room of segments knows itself and the floors below it, never the front of the house',
    broken: ({ from, to, outside }) => {
      const room = segmentsRoom(from)
      if (outside || room === null || !to.startsWith('src/storage/segments/')) return false
      const other = segmentsRoom(to)
      return other !== room && (other === null || segmentsFloor(other) >= segmentsFloor(room))
    },
  },
  {
    says: 'text analysis is pure: it imports nothing of the project outside itself',
    broken: ({ from, to, outside }) => !outside && inside(from, 'text') && !inside(to, 'text'),
  },
  {
    says: 'calling threads, processes and foreign servers knows nothing of what they do',
    broken: ({ from, to, outside }) =>
      !outside &&
      ['threads', 'outbound'].includes(placeOf(from)) &&
      ![placeOf(from), 'errors.ts'].includes(placeOf(to)),
  },
  {
    says: 'a collector knows the server by its HTTP API alone: of the project it takes only pure code',
    broken: ({ from, to, outside }) =>
      !outside &&
      inside(from, 'feeds') &&
      !['feeds', 'text', 'outbound', 'config.ts', 'validation.ts'].includes(placeOf(to)),
  },
  {
    says: 'the console speaks HTTP only: it imports nothing from outside itself, and nothing imports it',
    broken: ({ from, to, outside }) =>
      (inside(from, 'console') && (outside || !inside(to, 'console'))) ||
      (!outside && inside(to, 'console') && !inside(from, 'console')),
  },
  {
    says: 'nothing imports main.ts, and only main.ts and cli/ import cli/',
    broken: ({ from, to, outside }) =>
      !outside &&
      (placeOf(to) === 'main.ts' || (inside(to, 'cli') && !inside(from, 'cli') && placeOf(from) !== 'main.ts')),
  },
]

const imports = files.flatMap(importsOf)
const faults: string[] = []
for (const one of imports) {
  for (const { says, broken } of rules) if (broken(one)) faults.push(`${one.from} imports ${one.to}: ${says}`)
}

// A whole environment may be handed on to a process that is started; a variable is read by main.ts, and through it.
for (const file of files) {
  if (file !== 'src/main.ts' && /process\.env[.[]/.test(readFileSync(join(root, file), 'utf8'))) {
    faults.push(`${file} reads a variable of the environment: what is set comes through config.ts or the context`)
  }
}

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

if (files.length === 0 || imports.length === 0) faults.push('nothing was read: the check itself is broken')
for (const fault of faults) console.error(fault)
console.log(`${files.length} files, ${imports.length} imports, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
