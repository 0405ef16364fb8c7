import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Test files in the order given, each in a process of its own, so many at once. `node --test` would do the same, but for
 * two things: it sorts them by name, and it waits for ever for a process whose tests have ended while something keeps it.
 */
export interface TestRun {
  readonly file: string
  readonly store: 'sqlite' | 'postgres'
}

interface Ended {
  readonly what: string
  readonly output: string
  readonly seconds: number
  readonly trouble: string | null
}

const testLimitMs = 600_000
/** Of a whole file: many times what the longest one takes. */
const fileLimitMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 900_000)
/** The place that bin/tidemark.js has for it too. */
const compiled = fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url))

/** Process groups that run: whatever ends this process ends them, with the servers that their tests had started. */
const groups = new Set<number>()
function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
process.on('exit', () => groups.forEach(endGroup))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Prints what each file says as soon as it has ended, and in the end what there was in all; true where all passed. */
export async function runTestFiles(runs: readonly TestRun[], atOnce: number): Promise<boolean> {
  const startedMs = performance.now()
  const ended: Ended[] = []
  const waiting = runs.values()
  const one = async (): Promise<void> => {
    for (const run of waiting) {
      const result = await runTestFile(run)
      ended.push(result)
      console.log(`== ${ended.length} of ${runs.length}: ${result.what}, ${result.seconds.toFixed(1)} s`)
      console.log(result.output.replaceAll(/^ℹ .*\n/gm, ''))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))

  const longest = ended.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10)
  if (runs.length > longest.length) {
    console.log('The longest:')
    for (const { what, seconds } of longest) console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${what}`)
  }
  const count = (word: string) => ended.reduce((sum, { output }) => sum + countOf(word, output), 0)
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${count('tests')} tests in ${runs.length} files: ${count('pass')} passed, ${seconds.toFixed(0)} s`)
  const failed = ended.filter(({ trouble }) => trouble !== null)
  for (const { what, trouble } of failed) console.log(`FAILED: ${what}: ${trouble}`)
  return failed.length === 0
}

function runTestFile({ file, store }: TestRun): Promise<Ended> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['--test-reporter=spec', `--test-timeout=${testLimitMs}`, file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { NODE_COMPILE_CACHE: compiled, ...process.env, STORE: store },
    detached: true,
  })
  const group = child.pid!
  groups.add(group)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  let isTooLate = false
  const limit = setTimeout(() => {
    isTooLate = true
    endGroup(group)
  }, fileLimitMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(limit)
      groups.delete(group)
      let trouble: string | null = null
      if (isTooLate) trouble = `it had not ended after ${fileLimitMs / 1000} s, and was killed`
      else if (code !== 0)
        trouble = `${countOf('fail', output) + countOf('cancelled', output)} tests failed, exit code ${code}`
      else if (countOf('tests', output) === 0) trouble = 'there is no test in it'
      resolve({ what: `${file} on ${store}`, output, seconds: (performance.now() - startedMs) / 1000, trouble })
    })
  })
}

/** From the lines that the reporter ends with; the last ones, because tests may print such lines too. */
function countOf(word: string, output: string): number {
  const lines = [...output.matchAll(new RegExp(`^ℹ ${word} (\\d+)$`, 'gm'))]
  return Number(lines.at(-1)?.[1] ?? 0)
}
