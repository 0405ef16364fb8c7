import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FileNotifications } from './file-notifications.ts'

test('listeners are notified of every write, also after a checkpoint, and not of reads', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-notifications-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.sqlite')
  const server = new DatabaseSync(path)
  server.exec('pragma journal_mode = wal; create table t (a)')
  const notifications = new FileNotifications(path, 5)
  let notified = 0
  const following = notifications.follow(() => notified++)
  const notifiedAgain = async (): Promise<void> => {
    const before = notified
    while (notified === before) await sleep(2)
  }
  const quiet = async (): Promise<number> => {
    for (let before = -1; before !== notified; await sleep(30)) before = notified
    return notified
  }

  const other = new DatabaseSync(path)
  for (const write of [() => other.exec('insert into t values (1)'), () => server.exec('insert into t values (2)')]) {
    write()
    await notifiedAgain()
    const before = await quiet()
    assert.ok(other.prepare('select a from t').all().length > 0)
    other.exec('begin immediate')
    other.exec('rollback')
    assert.equal(await quiet(), before)
    server.exec('pragma wal_checkpoint(truncate)')
    await quiet()
  }
  other.exec('insert into t values (3)')
  await notifiedAgain()

  following.end()
  const before = notified
  other.exec('insert into t values (4)')
  assert.equal(await quiet(), before)
  notifications.close()
  for (const one of [other, server]) one.close()
})
