import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshFolder, sharedEmbedding, startServer, tidemark } from '../acceptance/harness.ts'

const instance = `
datasets:
  - {dataset_id: news, name: News}
applications:
  - name: Desk
    entitlements:
      - {datasets: [news]}
    keys:
      - {name: laptop}
collectors:
  - {name: rss, datasets: [news]}
`

test('an instance is created, filled, checked, served, backed up and restored by commands', async () => {
  const dataDir = freshFolder()
  const { env } = await sharedEmbedding()
  const files = freshFolder()
  const file = (name: string, text: string): string => {
    const path = join(files, name)
    writeFileSync(path, text)
    return path
  }
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await tidemark(args, { dataDir, env })
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }
  const applied = await run('apply', file('instance.yaml', instance))
  const key = /shown only once: (tmc_\S+)/.exec(applied)![1]!
  assert.equal(await run('apply', file('again.yaml', instance)), 'nothing to change\n')
  const documents = ['Tides of the north', 'Ferries of the south'].map((title, i) =>
    JSON.stringify({ dataset_id: 'news', source_platform: 'rss', external_id: String(i), title }),
  )
  await run('import', file('documents.ndjson', documents.join('\n')))
  await run('reindex')
  await run('doctor')
  assert.match(await run('app', 'list'), /Desk/)

  const finds = async (folder: string): Promise<void> => {
    const server = await startServer({ dataDir: folder, env })
    const { status, body } = await server.consumer(key, 'POST', '/v1/search/keyword', { query: 'ferries' })
    assert.equal(status, 200)
    assert.deepEqual(
      body.results.map(({ title }: { title: string }) => title),
      ['Ferries of the south'],
    )
    assert.equal(await server.stop(), 0)
  }
  await finds(dataDir)

  const backup = join(freshFolder(), 'backup')
  await run('backup', backup)
  const restoredTo = join(freshFolder(), 'restored')
  const { code, stderr } = await tidemark(['restore', backup], { dataDir: restoredTo, env })
  assert.equal(code, 0, stderr)
  await finds(restoredTo)
})

test('an unknown command exits with code 2 and a message without a stack trace', async () => {
  const { code, stdout, stderr } = await tidemark(['frobnicate'])
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /unknown command 'frobnicate'/)
  assert.doesNotMatch(stderr, /\n\s+at /)
})
