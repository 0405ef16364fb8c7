import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const script = join(import.meta.dirname, '../scripts/test.ts')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-files-'))
after(() => rmSync(folder, { recursive: true }))

/** What `npm test` says of files of these texts, by their names. */
async function runOf(texts: Readonly<Record<string, string>>, limitMs = 600_000) {
  const files = Object.entries(texts).map(([name, text]) => {
    const file = join(folder, `${name}.test.ts`)
    writeFileSync(file, `import { test } from 'node:test'\n${text}`)
    return file
  })
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_TEST'))
  const env = { ...Object.fromEntries(inherited), TEST_FILE_LIMIT_MS: String(limitMs), TEST_DATABASE_URL: undefined }
  return new Promise<{ code: unknown; stdout: string; troubles: (string | undefined)[] }>((resolve) => {
    execFile(process.execPath, [script, ...files], { env }, (error, stdout) => {
      const troubleOf = (name: string) => new RegExp(`^FAILED: .*/${name}\\.test\\.ts .*: (.*)$`, 'm').exec(stdout)?.[1]
      resolve({ code: error?.code, stdout, troubles: Object.keys(texts).map(troubleOf) })
    })
  })
}

test('a file that does not end is killed and named, also where its tests have ended', async () => {
  const { code, troubles } = await runOf(
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
  assert.deepEqual(troubles, new Array(2).fill('it had not ended after 2 s, and was killed'))
})

test('a file that fails, or has no test in it, is named, and the others are run', async () => {
  const { code, stdout, troubles } = await runOf({
    broken: "test('not so', () => { throw new Error('as expected') })",
    empty: '',
    good: "test('good', () => {})",
  })
  assert.equal(code, 1)
  assert.deepEqual(troubles, ['1 tests failed, exit code 1', 'there is no test in it', undefined])
  assert.match(stdout, /^✔ good/m)
  assert.match(stdout, /as expected/)
})
