import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const script = join(import.meta.dirname, '../scripts/test.ts')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-files-'))
after(() => rmSync(folder, { recursive: true }))

/** Runs `npm test` on files with these texts, and returns its output by their names. */
const runOf = (texts: Readonly<Record<string, string>>, limitMs?: number) =>
  said([script, ...filesOf(texts)], Object.keys(texts), limitMs)

function filesOf(texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts).map(([name, text]) => {
    const file = join(folder, `${name}.test.ts`)
    writeFileSync(file, `import { test } from 'node:test'\n${text}`)
    return file
  })
}

function said(args: readonly string[], names: readonly string[], limitMs = 600_000) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_TEST'))
  const env = { ...Object.fromEntries(inherited), TEST_FILE_LIMIT_MS: String(limitMs), TEST_DATABASE_URL: undefined }
  return new Promise<{ code: unknown; stdout: string; failures: (string | undefined)[] }>((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout) => {
      const troubleOf = (name: string) => new RegExp(`^FAILED: .*/${name}\\.test\\.ts .*: (.*)$`, 'm').exec(stdout)?.[1]
      resolve({ code: error?.code, stdout, failures: names.map(troubleOf) })
    })
  })
}

test('a file that does not end is killed and named, also where its tests have ended', async () => {
  const { code, failures } = await runOf(
    {
      kept: "test('done', () => {})\nsetInterval(() => {}, 1000)",
      // By a process that it started, and that has its output.
      orphan:
        "import { spawn } from 'node:child_process'\n" +
        "test('done', () => spawn('sleep', ['600'], { stdio: 'inherit' }).unref())",
    },
    2000,
  )
  assert.equal(code, 1)
  assert.deepEqual(failures, new Array(2).fill('killed, because it did not finish within 2 s'))
})

test('a file that fails, or has no test in it, is named, and the others are run', async () => {
  const { code, stdout, failures } = await runOf({
    broken: "test('not so', () => { throw new Error('as expected') })",
    empty: '',
    good: "test('good', () => {})",
  })
  assert.equal(code, 1)
  assert.deepEqual(failures, ['tests failed', 'it has no tests', undefined])
  assert.match(stdout, /^ +✔ good/m)
  assert.match(stdout, /as expected/)
  assert.match(stdout, /^2 tests in 3 files: 1 passed/m)
})

test('an error that nobody catches fails the file at once, whatever its tests wait for', async () => {
  const { code, stdout, failures } = await runOf({
    thrown:
      "test('waits', async () => { setImmediate(() => { throw new Error('uncaught') }); await new Promise(() => setInterval(() => {}, 1000)) })",
    rejected:
      "test('waits', async () => { Promise.reject(new Error('unhandled')); await new Promise(() => setInterval(() => {}, 1000)) })",
  })
  assert.equal(code, 1)
  assert.deepEqual(failures, new Array(2).fill('it did not finish'))
  for (const word of ['uncaught', 'unhandled'])
    assert.match(stdout, new RegExp(`Uncaught error, so no further test is run.* Error: ${word}\n +at .*.test.ts`))
})

test('of files in one process each begins when the one before has ended, and one that ends the process is named', async () => {
  const files = filesOf({
    first:
      "import { after, before } from 'node:test'\n" +
      "before(() => console.log('first begins'))\ntest('one', () => {})\nafter(() => console.log('first ends'))",
    second: "console.log('second is read')\ntest('two', () => {})",
    leaving: "test('leaves', () => process.exit(0))",
    never: "test('never', () => {})",
  })
  const runner = join(import.meta.dirname, '../scripts/run-test-files.ts')
  const script = `import { runTestFiles } from ${JSON.stringify(runner)}
    const { passed } = await runTestFiles([{ files: ${JSON.stringify(files)}, store: 'sqlite' }], 1, '')
    process.exitCode = passed ? 0 : 1`
  const { code, stdout, failures } = await said(
    ['--input-type=module', '--eval', script],
    ['first', 'second', 'leaving', 'never'],
  )
  assert.equal(code, 1)
  const unended = 'it did not finish'
  assert.deepEqual(failures.slice(2), [unended, unended])
  assert.match(stdout, /first begins\n(.*\n)*first ends\n(.*\n)*second is read/)
})
