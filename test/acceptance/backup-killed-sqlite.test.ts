import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { absentFolder, backedUp, restored } from './backups.ts'
import { documentOf, send } from './content.ts'
import { freshFolder, startServer, startTidemark, tidemark } from './harness.ts'

suite('kill -9 of a backup and of a restore', () => {
  /** Milliseconds after a command has started to write: from at once to, on most machines, after its end. */
  const delays = [0, 10, 40, 160]
  /** Instances with enough content to take a while: one dataset and one token each. */
  const make = async (dataset: string) => {
    const env = { TIDEMARK_ADMIN_TOKEN: '', TIDEMARK_LOG_LEVEL: 'warn' }
    const server = await startServer({ env })
    const token = /shown only once: (tma_\S+)/.exec(server.stdout)![1]!
    await server.as(token, 'PUT', `/admin/v1/datasets/${dataset}`, { name: dataset })
    const made = await server.as(token, 'POST', '/admin/v1/collectors', { name: 'x' })
    const extra_payload = { text: 'x'.repeat(1_000_000) }
    const documents = Array.from({ length: 20 }, (_, i) =>
      documentOf(`${dataset}-${i}`, { dataset_id: dataset, extra_payload }),
    )
    await send(server, made.body.collector_key, documents)
    const folder = await backedUp(server)
    await server.stop()
    return { dataset, token, server, folder }
  }
  let older: Awaited<ReturnType<typeof make>>
  let newer: Awaited<ReturnType<typeof make>>
  before(async () => {
    older = await make('older')
    newer = await make('newer')
  })
  /** Polls every millisecond, because a busy loop would take the processor from the command. */
  const begun = async (folder: string, name: RegExp): Promise<void> => {
    while (!readdirSync(folder).some((one) => name.test(one))) await delay(1)
  }

  test('of a backup: there is a whole one or none', async () => {
    for (const delayMs of delays) {
      const into = freshFolder()
      const command = await startTidemark(['backup', into], { dataDir: newer.server.dataDir })
      await begun(into, /^tidemark-backup-/)
      await delay(delayMs)
      command.kill9()
      await command.ended
      for (const name of readdirSync(into)) {
        const { code, stderr } = await tidemark(['restore', join(into, name)], { dataDir: absentFolder() })
        // Between its last file and its final name, the backup is complete too.
        if (code !== 0 && name.endsWith('.partial')) assert.match(stderr, /is not a backup/)
        else assert.equal(code, 0, stderr)
      }
    }
  })

  test('of a restore: the folder is the old one or the new one', async () => {
    const outcomes: string[] = []
    for (const delayMs of delays) {
      const dataDir = join(freshFolder(), 'data')
      cpSync(older.server.dataDir, dataDir, { recursive: true })
      const command = await startTidemark(['restore', newer.folder, '--force'], { dataDir })
      await begun(dataDir, /^restore.partial$/)
      await delay(delayMs)
      command.kill9()
      await command.ended
      const server = await startServer({ dataDir, env: { TIDEMARK_ADMIN_TOKEN: '', TIDEMARK_LOG_LEVEL: 'warn' } })
      const answers = await Promise.all(
        [older, newer].map(({ token }) => server.as(token, 'GET', '/admin/v1/datasets')),
      )
      const known = answers.find(({ status }) => status === 200)!
      const [dataset] = known.body.datasets
      assert.deepEqual(
        answers.map(({ status }) => status),
        dataset.dataset_id === 'older' ? [200, 401] : [401, 200],
        'data and token belong together',
      )
      outcomes.push(dataset.dataset_id)
      await server.stop()
    }
    assert.ok(outcomes.includes('older'), 'killed before the end at least once')
  })

  test('of a restore over the same instance: a key revoked since the backup is dead at every moment', async () => {
    const { server, folder } = newer
    const keyId = /key_\w+/.exec((await server.tidemark(['key', 'list'])).stdout)![0]
    assert.equal((await server.tidemark(['key', 'revoke', keyId])).code, 0)
    for (const delayMs of [10, 160]) {
      const dataDir = join(freshFolder(), 'data')
      cpSync(server.dataDir, dataDir, { recursive: true })
      const command = await startTidemark(['restore', folder, '--force'], { dataDir })
      await begun(dataDir, /^restore.partial$/)
      await delay(delayMs)
      command.kill9()
      await command.ended
      const { stdout } = await tidemark(['key', 'list'], { dataDir })
      assert.match(stdout, new RegExp(`${keyId}.* revoked `))
    }
  })

  test('of a restore into an empty folder: the next one needs no --force', async () => {
    const dataDir = freshFolder()
    const command = await startTidemark(['restore', newer.folder], { dataDir })
    await begun(dataDir, /^restore.partial$/)
    command.kill9()
    await command.ended
    assert.ok(!existsSync(join(dataDir, 'tidemark.sqlite')))
    await restored(newer.folder, dataDir)
    assert.ok(!existsSync(join(dataDir, 'restore.partial')))
  })
})
