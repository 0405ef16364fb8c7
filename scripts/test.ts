import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../test/browser/find-chromium.ts'
import { removeTestDatabases } from '../test/support/fresh-database.ts'

/**
 * `npm test [-- FILE…]`: every test file, each in its own process, as many at once as there are cores. Where
 * TEST_DATABASE_URL names a PostgreSQL server, what depends on the store (test/acceptance) is run a second time, on that;
 * what does not (test/service) is run once.
 */
const named = process.argv.slice(2)
/** What is about one of the two by its nature says so in its name. */
const onSqlite = (file: string): boolean => file.endsWith('-sqlite.test.ts')
const onPostgres = (file: string): boolean => file.endsWith('-postgres.test.ts')
/** Node would run one less. More at once would starve what runs at low priority, as graphs do: their tests wait for it. */
const filesAtOnce = availableParallelism()
/** The place that src/main.ts has for it too. */
const compiled = fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url))
const hasPostgres = process.env.TEST_DATABASE_URL !== undefined

function run(about: string, store: 'sqlite' | 'postgres', files: readonly string[]): boolean {
  if (files.length === 0) return true
  console.log(`== ${about}: ${files.length} files`)
  const { status } = spawnSync(
    process.execPath,
    ['--test', `--test-concurrency=${filesAtOnce}`, '--test-reporter=spec', '--test-timeout=600000', ...files],
    { stdio: 'inherit', env: { NODE_COMPILE_CACHE: compiled, ...process.env, STORE: store } },
  )
  return status === 0
}

if (named.length > 0) {
  const passed = [
    run(
      'on SQLite',
      'sqlite',
      named.filter((file) => !onPostgres(file)),
    ),
    !hasPostgres ||
      run(
        'on PostgreSQL',
        'postgres',
        named.filter((file) => !onSqlite(file)),
      ),
  ]
  process.exit(passed.every(Boolean) ? 0 : 1)
}

const leftOut: string[] = []
/** The long ones first, so that at the end no core waits for the other. */
let files = ['test', 'src', 'console'].flatMap((place) => globSync(`${place}/**/*.test.ts`).sort())
if (findChromium() === null) {
  files = files.filter((file) => !file.startsWith('test/browser/'))
  leftOut.push('the browser tests, because there is no Chromium here: install it, or set CHROMIUM_PATH')
}
const dependsOnStore = files.filter(
  (file) => onPostgres(file) || (file.startsWith('test/acceptance/') && !onSqlite(file)),
)
let passed = run(
  'on SQLite',
  'sqlite',
  files.filter((file) => !onPostgres(file)),
)
if (hasPostgres) {
  passed = run('on PostgreSQL', 'postgres', dependsOnStore) && passed
  await removeTestDatabases()
} else {
  leftOut.push(
    `the same on PostgreSQL (${dependsOnStore.length} files), because TEST_DATABASE_URL is not set: where Debian's ` +
      'package postgresql is installed, "npm run with-postgres -- npm test" runs everything',
  )
}
for (const one of leftOut) console.log(`Left out: ${one}.`)
process.exit(passed ? 0 : 1)
