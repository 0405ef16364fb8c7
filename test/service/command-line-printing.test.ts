import assert from 'node:assert/strict'
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { freshFolder, startServer, type TestServer, tidemark } from '../acceptance/harness.ts'

let server: TestServer

before(async () => {
  server = await startServer()
  await server.makeDataset('news')
})

suite('what others wrote is printed so that it shows on a terminal what it is', () => {
  const unseen = '\u001b[2J\u009b1G\u202e\u2028\u200b'
  const printed = '\\u001b[2J\\u009b1G\\u202e\\u2028\\u200b'
  const raw = [...'\u001b\u009b\u202e\u2028\u200b']
  const hasRaw = (text: string): boolean => raw.some((one) => text.includes(one))

  async function fails(args: readonly string[], dataDir = server.dataDir): Promise<string> {
    const { code, stdout, stderr } = await tidemark(args, { dataDir })
    assert.notEqual(code, 0)
    assert.ok(!hasRaw(stdout + stderr), JSON.stringify(stderr))
    assert.ok(stderr.length < 1000, stderr)
    return stderr
  }

  test('an author and a platform to erase', async () => {
    const why = await fails(['erase', 'author', 'news', `rss${unseen}`, `ann\n${unseen}`, '--dry-run'])
    assert.ok(why.includes(`by author "ann\\n${printed}" on "rss${printed}" in dataset "news"`), why)
  })

  test('fields and names of files', async () => {
    const path = join(freshFolder(), `${unseen}.yaml`)
    writeFileSync(path, JSON.stringify({ [unseen]: 1 }))
    const why = await fails(['apply', path])
    assert.ok(why.includes(`${printed}.yaml: unknown field "${printed}"`), why)
    for (const args of [['import'], ['backup', 'verify'], ['restore'], ['apply']]) {
      const missing = await fails([...args, join(freshFolder(), `gone${unseen}`)], freshFolder())
      assert.ok(missing.includes(`gone${printed}`), missing)
    }
  })

  test('commands, options and arguments, which are shortened where they are long', async () => {
    const long = unseen.padEnd(5000, 'A')
    for (const args of [
      [long],
      ['app', 'show', long],
      ['app', 'delete', long],
      ['key', 'revoke', long],
      ['admin', 'revoke', long],
      ['admin', 'create', 'x', '--role', long],
      ['serve', '--port', long],
      ['erase', 'dataset', long, '--yes'],
    ]) {
      assert.match(await fails(args), /A…/, args.slice(0, 2).join(' '))
    }
  })

  test('JSON stays the same JSON', async () => {
    const platforms = [`rss\u009b\u202e\u2028\u200b\\`]
    const { applicationId } = await server.makeApplication({ entitlements: [{ datasets: ['news'], platforms }] })
    const { stdout } = await tidemark(['app', 'show', applicationId], { dataDir: server.dataDir })
    assert.ok(!hasRaw(stdout), JSON.stringify(stdout))
    assert.deepEqual(JSON.parse(stdout).entitlements[0].platforms, platforms)
  })
})

suite('a restore is refused before anything is read or written', () => {
  test('to the backup itself, and to folders that cannot be made', async () => {
    const into = freshFolder()
    const made = await tidemark(['backup', into], { dataDir: server.dataDir })
    assert.equal(made.code, 0, made.stderr)
    const backup = join(into, readdirSync(into)[0]!)
    const before = readdirSync(backup)
    const link = join(freshFolder(), 'link')
    symlinkSync(join(into, 'gone'), link)
    const refused: [string, RegExp][] = [
      [backup, /is the backup itself/],
      [join(backup, 'data'), /is in the backup/],
      [link, /cannot write to .*link \(ENOENT\)/],
      ...(process.platform === 'linux' ? [['/proc/x', /cannot write to \/proc \(/] as [string, RegExp]] : []),
    ]
    for (const [dataDir, why] of refused) {
      const { code, stderr } = await tidemark(['restore', backup, '--force'], { dataDir })
      assert.equal(code, 1, stderr)
      assert.match(stderr, why)
      assert.doesNotMatch(stderr, /checking the backup/)
    }
    assert.deepEqual(readdirSync(backup), before)
    assert.deepEqual(readdirSync(into).length, 1)
    const good = await tidemark(['backup', 'verify', backup])
    assert.equal(good.code, 0, good.stderr)
  })
})
