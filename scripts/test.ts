import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { findChromium } from '../test/browser/find-chromium.ts'

/** `npm test [-- FILE…]`: every test file, each in its own process, as many at once as there are cores. */
const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort()
const browser = named.length > 0 || findChromium() !== null
const chosen = browser ? files : files.filter((file) => !file.startsWith('test/browser/'))
if (chosen.length === 0) {
  console.error('no test files found')
  process.exit(1)
}
const { status } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', '--test-timeout=300000', ...chosen], {
  stdio: 'inherit',
})
if (!browser) {
  console.log('Left out: test/browser, because there is no Chromium here. Install it, or set CHROMIUM_PATH, to run it.')
}
process.exit(status ?? 1)
