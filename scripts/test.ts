import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

/** `npm test [-- FILE…]`: every test file, each in its own process, as many at once as there are cores. */
const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort()
if (files.length === 0) {
  console.error('no test files found')
  process.exit(1)
}
const { status } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', '--test-timeout=300000', ...files], {
  stdio: 'inherit',
})
process.exit(status ?? 1)
