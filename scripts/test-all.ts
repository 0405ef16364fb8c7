import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { findPostgres } from './throwaway-postgres.ts'

/**
 * `npm run test:all` runs every test, with temporary servers for those that need one: PostgreSQL, an OpenSearch
 * cluster, S3. `npm run test:all -- --rest` runs only the tests that `npm test` leaves out. The tests of the cluster
 * and of S3 come last, because those servers take memory. TEST_DRILLS=no skips the drills, which take minutes each. If
 * a server cannot be started here, that is reported and its tests are skipped.
 */
const extent = process.argv.includes('--rest') ? '--rest' : '--all'

let running: ChildProcess | undefined
let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true
    running?.kill(signal)
  })
}
async function run(script: string, ...args: readonly string[]): Promise<boolean> {
  running = spawn(process.execPath, [join(import.meta.dirname, script), ...args], { stdio: 'inherit' })
  const [code] = await once(running, 'exit')
  if (isStopped) process.exit(1)
  return code === 0
}
const tests = [process.execPath, join(import.meta.dirname, 'test.ts')]

const startsPostgres = process.env.TEST_DATABASE_URL === undefined && findPostgres() !== null
const passed = [await (startsPostgres ? run('with-postgres.ts', ...tests, extent) : run('test.ts', extent))]
for (const server of ['opensearch', 's3']) {
  // The script reports what is missing.
  if (await run(`with-${server}.ts`, '--is-missing')) continue
  const files = globSync(`{src,test}/**/*-${server}.test.ts`).sort()
  const selected = process.env.TEST_DRILLS === 'no' ? files.filter((file) => !file.includes('-drill-')) : files
  passed.push(await run(`with-${server}.ts`, ...tests, ...selected))
}
process.exit(passed.every(Boolean) ? 0 : 1)
