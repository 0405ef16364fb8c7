import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

/**
 * Runs test files in the given order, in several processes at once. Unlike `node --test`, it does not sort files by
 * name, can run several files in one process, and kills a process that does not end after its tests.
 */
export interface TestRun {
  /** One process runs them, one after the other. */
  readonly files: readonly string[]
  readonly store: 'sqlite' | 'postgres'
}

interface FileResult {
  readonly what: string
  readonly seconds: number
  /** On all cores, in the process and its children; a database server and most of Chromium are not included. */
  readonly cpuSeconds: number
  readonly hasPassed: boolean
  readonly failure: string | null
}

interface RunResult {
  readonly output: string
  readonly files: readonly FileResult[]
  /** Failures of files or of the process. */
  readonly failures: readonly string[]
}

const testLimitMs = 600_000
/** The limit for one file, many times what the longest one takes. A process of several files has this time for each. */
const fileLimitMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 900_000)
/** The most characters shown of a failed process. */
const failureCharacters = 4000
/** The same folder as in bin/tidemark.js. */
const compiled = fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url))

const together = fileURLToPath(new URL('run-together.ts', import.meta.url))

/** Running process groups. They are killed when this process ends, with the servers that their tests have started. */
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

/**
 * Prints the output of each process as soon as it has ended, and at the end a summary line followed by `closing`.
 * Returns the seconds of each file by its name and store.
 */
export async function runTestFiles(
  runs: readonly TestRun[],
  atOnce: number,
  closing: string,
): Promise<{ readonly passed: boolean; readonly seconds: Readonly<Record<string, number>> }> {
  const startedMs = performance.now()
  const ended: RunResult[] = []
  const waiting = runs.values()
  const one = async (): Promise<void> => {
    for (const run of waiting) {
      const runStartedMs = performance.now()
      const result = await runTogether(run)
      ended.push(result)
      const seconds = (performance.now() - runStartedMs) / 1000
      console.log(
        `== ${ended.length} of ${runs.length}: ${run.files.join(', ')} on ${run.store}, ${seconds.toFixed(1)} s`,
      )
      console.log(result.output.replaceAll(/^ℹ .*\n/gm, ''))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))

  const files = ended.flatMap((one) => one.files)
  if (files.length > 10) {
    console.log('The slowest files:')
    const longest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, 25)
    for (const { what, seconds, cpuSeconds } of longest) {
      console.log(`  ${seconds.toFixed(1).padStart(6)} s, ${cpuSeconds.toFixed(1).padStart(6)} s of CPU  ${what}`)
    }
  }
  // Each file counts as a test too.
  const count = (word: string) => ended.reduce((sum, { output }) => sum + countOf(word, output), 0)
  const tests = count('tests') - files.length
  const passed = count('pass') - files.filter(({ hasPassed }) => hasPassed).length
  const seconds = (performance.now() - startedMs) / 1000
  const cpuSeconds = files.reduce((sum, one) => sum + one.cpuSeconds, 0)
  const failures = ended.flatMap((one) => one.failures)
  // Repeated at the end, because some logs keep only the end of a long run.
  for (const { output } of ended.filter((one) => one.failures.length > 0)) console.log(failuresIn(output))
  for (const failure of failures) console.log(`FAILED: ${failure}`)
  console.log(
    `${tests} tests in ${files.length} files: ${passed} passed, ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU.${closing}`,
  )
  return {
    passed: failures.length === 0,
    seconds: Object.fromEntries(files.map((one) => [one.what, one.seconds])),
  }
}

function runTogether({ files, store }: TestRun): Promise<RunResult> {
  const flags = ['--test-reporter=spec', `--test-timeout=${testLimitMs}`]
  const child = spawn(process.execPath, [...flags, together, ...files], {
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
  let isTimedOut = false
  const limitMs = fileLimitMs * files.length
  const limit = setTimeout(() => {
    isTimedOut = true
    endGroup(group)
  }, limitMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(limit)
      groups.delete(group)
      // Programs that a test runs may set colours.
      const lines = stripVTControlCharacters(output).split('\n')
      const ended = files.map((file) => parseResult(file, store, lines))
      const failures = ended.flatMap(({ what, failure }) => (failure === null ? [] : [`${what}: ${failure}`]))
      const whole = `${files.join(', ')} on ${store}`
      if (isTimedOut) failures.unshift(`${whole}: killed, because it did not finish within ${limitMs / 1000} s`)
      else if (code !== 0 && failures.length === 0) failures.push(`${whole}: exit code ${code}`)
      resolve({ output, files: ended, failures })
    })
  })
}

/** Parses the report of a file. Its first line exists only if the file has tests. */
function parseResult(file: string, store: string, lines: readonly string[]): FileResult {
  const what = `${file} on ${store}`
  const end = lines.map((line) => /^([✔✖]) (.*) \(([\d.]+)ms\)$/.exec(line)).find((found) => found?.[2] === file)
  if (!end) return { what, seconds: 0, cpuSeconds: 0, hasPassed: false, failure: 'it did not finish' }
  const used = lines.map((line) => /^ℹ (.*) used ([\d.]+) s of CPU$/.exec(line)).find((found) => found?.[1] === file)
  const hasPassed = end[1] === '✔'
  let failure: string | null = null
  if (!hasPassed) failure = 'tests failed'
  else if (!lines.includes(`▶ ${file}`)) failure = 'it has no tests'
  return { what, seconds: Number(end[3]) / 1000, cpuSeconds: Number(used?.[2] ?? 0), hasPassed, failure }
}

/** Returns the summary of failed tests at the end of the report, cut to a readable length. */
function failuresIn(output: string): string {
  const start = output.lastIndexOf('\n✖ failing tests:')
  return output.slice(start < 0 ? -failureCharacters : start).slice(0, failureCharacters)
}

/** Reads a count from the last lines of the report, because tests may print such lines too. */
function countOf(word: string, output: string): number {
  const lines = [...output.matchAll(new RegExp(`^ℹ ${word} (\\d+)$`, 'gm'))]
  return Number(lines.at(-1)?.[1] ?? 0)
}
