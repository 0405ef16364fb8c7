import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, setPriority } from 'node:os'
import { dirname } from 'node:path'
import { findChromium } from '../test/browser/find-chromium.ts'
import { freshDatabase, removeTestDatabases } from '../test/support/fresh-database.ts'
import { MemoryDisk } from '../test/support/memory-disk.ts'
import { runTestFiles, type TestRun } from './run-test-files.ts'

/**
 * `npm test` runs the fast tests on the embedded store: those in src, console, test/contracts and test/walks, except
 * files whose names end in -long, -postgres, -opensearch or -s3. `--all` runs every file that can run here, and
 * `--rest` those that `npm test` leaves out; scripts/test-all.ts starts the servers that they need. `npm test -- FILE…`
 * runs the named files.
 *
 * If TEST_DATABASE_URL names a PostgreSQL server, test/acceptance and named files run a second time on it; test/service
 * does not depend on the store and runs once. Each named file has its own process; other files share one if they load
 * the same modules or start the same server. TEST_PROCESSES is the number of concurrent processes, by default two more
 * than cores.
 */
const [flag = '', ...others] = process.argv.slice(2)
const extent = flag === '--all' || flag === '--rest' ? flag : 'fast'
const named = extent === 'fast' ? process.argv.slice(2) : others
const isFast = (file: string): boolean =>
  !/^test\/(acceptance|browser|service)\//.test(file) && !/-(long|postgres|opensearch|s3)\.test\.ts$/.test(file)
/** Drills take minutes each and kill whole clusters. TEST_DRILLS=no skips them. */
const isDrill = (file: string): boolean => file.includes('-drill-')
/** The name of a file says whether it is only for one of the two stores. */
const onSqlite = (file: string): boolean => file.endsWith('-sqlite.test.ts')
const onPostgres = (file: string): boolean => file.endsWith('-postgres.test.ts')
/** More than cores, because most files wait now and then for a lease to expire or a process to end. */
const processesAtOnce = Number(process.env.TEST_PROCESSES ?? availableParallelism() + 2)
/** More than the folders of all concurrent tests need. */
const memoryDiskMegabytes = 4096
/** With less memory, the folders are on the disk. */
const memoryNeededBytes = 8 * 2 ** 30
const hasPostgres = process.env.TEST_DATABASE_URL !== undefined
const hasOpenSearch = process.env.TEST_OPENSEARCH_URL !== undefined
const hasS3 = process.env.TEST_S3_ENDPOINT !== undefined
const hasChromium = findChromium() !== null
const timesFile = 'node_modules/.cache/tidemark-test-times.json'

/** Folders whose tests take less time than the start of a process. */
const lightFolders =
  /^src\/(access|account|catalog|changes|cli|export|feeds|http|ingest|live|mcp|operator|outbound|search|text|fair-queue)\//
const everything = ['test', 'src', 'console'].flatMap((place) => globSync(`${place}/**/*.test.ts`).sort())
const canRun = (file: string): boolean =>
  (process.env.TEST_DRILLS !== 'no' || !isDrill(file)) &&
  (hasChromium || !/^test\/(browser\/|walks\/browser)/.test(file)) &&
  (hasOpenSearch || !file.endsWith('-opensearch.test.ts')) &&
  (hasS3 || !file.endsWith('-s3.test.ts'))
const isSelected = { fast: isFast, '--all': () => true, '--rest': (file: string) => !isFast(file) }[extent]
const files = named.length > 0 ? named : everything.filter((file) => canRun(file) && isSelected(file))
const again = named.length > 0 ? files : files.filter((file) => onPostgres(file) || file.startsWith('test/acceptance/'))
const runs: TestRun[] = [
  ...grouped(
    again.filter((file) => hasPostgres && !onSqlite(file)),
    'postgres',
  ),
  ...grouped(
    files.filter((file) => !onPostgres(file)),
    'sqlite',
  ),
]
// The longest start first, so that no core is idle at the end.
const times = lastTimes()
const expected = new Map(runs.map((run) => [run, expectedSeconds(run)]))
runs.sort((a, b) => expected.get(b)! - expected.get(a)!)
// Contributors wait for the fast tests, so these run a fifth of the random cases. A named file runs all of them.
process.env.TEST_CASES ??= named.length === 0 && extent === 'fast' ? '20' : '100'
// Databases wait for the disk at every commit, which tests do not need. A killed process does not lose files in memory
// either.
const memoryDisk = process.availableMemory() < memoryNeededBytes ? null : MemoryDisk.mount(memoryDiskMegabytes)
if (memoryDisk !== null) process.env.TMPDIR = memoryDisk.folder
// Analysis runs have the lowest priority. At normal priority, other tests would make them wait.
if (named.length === 0) setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
if (hasPostgres) process.env.TEST_DATABASE_TEMPLATE = await migratedDatabase()
const { passed, seconds } = await runTestFiles(runs, processesAtOnce, named.length === 0 ? whatWasSkipped() : '')
if (named.length === 0) keepTimes({ ...times, ...seconds })

if (hasPostgres) await removeTestDatabases()
process.exit(passed ? 0 : 1)

/**
 * Groups files by the process that runs them: unit tests of one folder, which load the same modules; all tests of the
 * light folders; files that share a server. Files directly in src have a process each, because some measure it.
 */
function grouped(files: readonly string[], store: TestRun['store']): TestRun[] {
  if (named.length > 0) return files.map((file) => ({ files: [file], store }))
  const kindOf = (file: string): string => {
    const folder = dirname(file)
    if (file.startsWith('console/')) return 'console'
    if (lightFolders.test(file)) return 'light folders'
    if (!file.startsWith('test/')) return folder === 'src' ? file : folder
    if (/^test\/service\/(compressed-answers|openapi|search)\b/.test(file)) return 'test/service, on one server'
    if (/^test\/acceptance\/(credentials|keys|limits)\b/.test(file)) return 'keys and limits, on one server'
    return /^test\/(acceptance\/(catalog|ingest|search)|browser)\b/.exec(file)?.[0] ?? file
  }
  return Object.values(Object.groupBy(files, kindOf)).map((kind) => ({ files: kind!, store }))
}

/** The name of a migrated database, which tests copy instead of migrating one each. */
async function migratedDatabase(): Promise<string> {
  const { url } = await freshDatabase()
  const env = { ...process.env, TIDEMARK_DATABASE_URL: url }
  execFileSync(process.execPath, ['bin/tidemark.js', 'migrate'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  return new URL(url).pathname.slice(1)
}

/** Printed after the counts at the end. */
function whatWasSkipped(): string {
  const missing = [
    ...(hasChromium ? [] : ['Chromium (CHROMIUM_PATH)']),
    ...(extent === 'fast' || hasPostgres ? [] : ['PostgreSQL (Debian: postgresql)']),
  ]
  const skipped = missing.length === 0 ? '' : ` Skipped, because it is not installed: ${missing.join(', ')}.`
  if (extent !== 'fast') return skipped
  const rest = everything.filter((file) => !isFast(file)).length
  const cases = process.env.TEST_CASES === '20' ? ' and five times the random cases' : ''
  return (
    `${skipped} "npm run test:all" adds ${rest} files${cases}: all of HTTP, the command line and the console, ` +
    'killed processes, PostgreSQL, OpenSearch and S3.'
  )
}

/** The seconds that each file last took here. Not committed, because they depend on the machine. */
function lastTimes(): Readonly<Record<string, number>> {
  return existsSync(timesFile) ? (JSON.parse(readFileSync(timesFile, 'utf8')) as Record<string, number>) : {}
}

function keepTimes(all: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(timesFile), { recursive: true })
  writeFileSync(timesFile, JSON.stringify(all))
}

/** The sum of the last durations. A file without one is estimated by its size, and higher if it starts servers. */
function expectedSeconds({ files, store }: TestRun): number {
  const seconds = files.map((file) => {
    const known = times[`${file} on ${store}`]
    if (known !== undefined || !existsSync(file)) return known ?? 0
    return statSync(file).size / (/^test\/(acceptance|browser|service)\//.test(file) ? 400 : 2000)
  })
  return seconds.reduce((sum, one) => sum + one, 0)
}
