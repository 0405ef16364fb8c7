import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism, constants, setPriority } from 'node:os'
import { dirname } from 'node:path'
import { findChromium } from '../test/browser/find-chromium.ts'
import { freshDatabase, removeTestDatabases } from '../test/support/fresh-database.ts'
import { MemoryDisk } from '../test/support/memory-disk.ts'
import { runTestFiles, type TestRun } from './run-test-files.ts'

/**
 * `npm test [-- FILE…]`: every test file, some processes more at once than there are cores. Files that are named have a
 * process each; of all of them, those that load or start the same have one together. Where TEST_DATABASE_URL names a
 * PostgreSQL server, what depends on the store (test/acceptance) is run a second time, on that; what does not
 * (test/service) is run once. TEST_PROCESSES says how many processes there are at once.
 */
const named = process.argv.slice(2)
/** What is about one of the two by its nature says so in its name. */
const onSqlite = (file: string): boolean => file.endsWith('-sqlite.test.ts')
const onPostgres = (file: string): boolean => file.endsWith('-postgres.test.ts')
/** More than cores: most files wait now and then, for a lease to run out or a process to end. */
const processesAtOnce = Number(process.env.TEST_PROCESSES ?? availableParallelism() + 2)
/** More than the folders of all tests at once were seen to need. Where there is less memory they are on the disk. */
const memoryDiskMegabytes = 4096
const memoryNeededBytes = 8 * 2 ** 30
const hasPostgres = process.env.TEST_DATABASE_URL !== undefined
const hasOpenSearch = process.env.TEST_OPENSEARCH_URL !== undefined
const hasS3 = process.env.TEST_S3_ENDPOINT !== undefined
const hasChromium = findChromium() !== null

/**
 * Those that cost most, which begin first, so that at the end no core waits for the other. Of files that share a process one
 * is named, for all of them.
 */
const longest = [
  'test/browser/pages.test.ts',
  'test/acceptance/copy-postgres.test.ts',
  'test/acceptance/feed-checker-postgres.test.ts',
  'src/storage/segments/exactness.test.ts',
  'test/acceptance/unreadable.test.ts',
  'test/service/command-line.test.ts',
  'test/acceptance/indexing-recovery.test.ts',
  'src/storage/sqlite/backup-store.test.ts',
  'test/service/start.test.ts',
  'src/embedding/built-in-embedder.test.ts',
  'test/acceptance/feed-checker.test.ts',
  'src/storage/postgres/elections-postgres.test.ts',
  'test/acceptance/processes-postgres.test.ts',
  'test/service/search-fairness.test.ts',
  'test/acceptance/data-folder-sqlite.test.ts',
  'test/acceptance/backup-sqlite.test.ts',
  'test/acceptance/catalog-access.test.ts',
  'test/acceptance/credentials.test.ts',
  'test/acceptance/backup-killed-sqlite.test.ts',
  'test/service/collect-feeds.test.ts',
  'test/acceptance/search-fuzz.test.ts',
  'test/acceptance/no-vector-lost.test.ts',
  'test/acceptance/shutdown.test.ts',
  'test/service/embedding-degradation.test.ts',
  'test/contracts/content-sqlite.test.ts',
  'test/service/embedding-builtin.test.ts',
  'test/service/alerts.test.ts',
  'test/contracts/live-store-sqlite.test.ts',
  'src/hostile-bodies.test.ts',
  'test/acceptance/analysis-lifecycle.test.ts',
  'test/acceptance/analysis-access.test.ts',
  'test/acceptance/ingest-merge.test.ts',
  'test/acceptance/changes-cursors.test.ts',
  'test/contracts/analysis-store-sqlite.test.ts',
  'test/acceptance/restore-access-sqlite.test.ts',
  'test/acceptance/mirror.test.ts',
  'src/text/analyse.test.ts',
  'test/acceptance/full-disk-sqlite.test.ts',
  'src/storage/segments/query/scan-terms.test.ts',
  'test/contracts/index-home.segments.test.ts',
  'test/acceptance/export.test.ts',
  'test/contracts/index-source-sqlite.test.ts',
  'src/worker/analysis.test.ts',
]
/** A process of its own would cost more than the tests of each. */
const lightSlices =
  /^src\/(access|account|catalog|changes|cli|export|feeds|http|ingest|live|mcp|operator|outbound|search|text|turns)\//
const everything = ['test', 'src', 'console'].flatMap((place) => globSync(`${place}/**/*.test.ts`).sort())
const canRun = (file: string): boolean =>
  (hasChromium || !file.startsWith('test/browser/')) &&
  (hasOpenSearch || !file.endsWith('-opensearch.test.ts')) &&
  (hasS3 || !file.endsWith('-s3.test.ts'))
const files = named.length > 0 ? named : everything.filter(canRun)
const again = named.length > 0 ? files : files.filter((file) => onPostgres(file) || file.startsWith('test/acceptance/'))
const runs: TestRun[] = [
  ...together(
    again.filter((file) => hasPostgres && !onSqlite(file)),
    'postgres',
  ),
  ...together(
    files.filter((file) => !onPostgres(file)),
    'sqlite',
  ),
]
const gone = named.length > 0 ? [] : longest.filter((file) => !everything.includes(file))
if (gone.length > 0) throw new Error(`scripts/test.ts names files that are not there: ${gone.join(', ')}`)
const place = ({ files }: TestRun): number => {
  const found = longest.findIndex((file) => files.includes(file))
  return found < 0 ? longest.length : found
}
runs.sort((a, b) => place(a) - place(b))
// Databases wait for the disk at every commit, which says nothing in a test. What is killed loses nothing in memory either.
const memoryDisk = process.availableMemory() < memoryNeededBytes ? null : MemoryDisk.mount(memoryDiskMegabytes)
if (memoryDisk !== null) process.env.TMPDIR = memoryDisk.folder
// Analysis runs have the lowest priority there is: they are not to wait until all other tests have nothing to do.
if (named.length === 0) setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
if (hasPostgres) process.env.TEST_DATABASE_TEMPLATE = await migratedDatabase()
const passed = await runTestFiles(runs, processesAtOnce)

if (hasPostgres) await removeTestDatabases()
if (named.length === 0) {
  const leftOut: string[] = []
  if (!hasChromium) {
    leftOut.push('the browser tests, because there is no Chromium here: install it, or set CHROMIUM_PATH')
  }
  if (!hasPostgres) {
    leftOut.push(
      'what depends on the store on PostgreSQL, because TEST_DATABASE_URL is not set: where ' +
        'Debian\'s package postgresql is installed, "npm run with-postgres -- npm test" runs everything',
    )
  }
  if (!hasOpenSearch) {
    leftOut.push(
      'the search index on OpenSearch, because TEST_OPENSEARCH_URL is not set: where there are a JDK from 21 on and mvn, ' +
        '"npm run with-opensearch -- npm test" runs everything',
    )
  }
  if (!hasS3) {
    leftOut.push(
      'artifacts and backups on S3, because TEST_S3_ENDPOINT is not set: where there is python3 with pip, ' +
        '"npm run with-s3 -- npm test" runs everything',
    )
  }
  for (const one of leftOut) console.log(`Left out: ${one}.`)
}
process.exit(passed ? 0 : 1)

/**
 * What one process runs: unit tests of a part, which load the same, of all parts whose tests take a moment each, and files
 * that share a server. Those beside the parts are of the whole, some count what the process uses, and have one each.
 */
function together(files: readonly string[], store: TestRun['store']): TestRun[] {
  if (named.length > 0) return files.map((file) => ({ files: [file], store }))
  const kindOf = (file: string): string => {
    const folder = dirname(file)
    if (file.startsWith('console/')) return 'console'
    if (lightSlices.test(file)) return 'light slices'
    if (!file.startsWith('test/')) return folder === 'src' ? file : folder
    if (/^test\/service\/(compressed-answers|openapi|search)\b/.test(file)) return 'test/service, on one server'
    if (/^test\/acceptance\/(credentials|keys|limits)\b/.test(file)) return 'keys and limits, on one server'
    return /^test\/(acceptance\/(catalog|ingest|search)|browser)\b/.exec(file)?.[0] ?? file
  }
  return Object.values(Object.groupBy(files, kindOf)).map((kind) => ({ files: kind!, store }))
}

/** The name of a database that tests copy, instead of migrating one each. */
async function migratedDatabase(): Promise<string> {
  const { url } = await freshDatabase()
  const env = { ...process.env, TIDEMARK_DATABASE_URL: url }
  execFileSync(process.execPath, ['bin/tidemark.js', 'migrate'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  return new URL(url).pathname.slice(1)
}
