import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { beginWriting, openSqlite } from './node-sqlite.ts'

test('the write lock is taken as soon as another process releases it, however long that takes', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-lock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { raw } = openSqlite(join(folder, 'store.sqlite'), false)
  const other = new DatabaseSync(join(folder, 'store.sqlite'))
  const busyTimeout = () => raw.prepare('pragma busy_timeout').get()!.timeout
  const before = busyTimeout()
  other.exec('begin immediate')
  let attempts = 0
  beginWriting(raw, () => {
    if (++attempts === 50) other.exec('commit')
  })
  assert.equal(attempts, 50)
  assert.ok(raw.isTransaction)
  assert.throws(() => other.exec('begin immediate'), /locked/)
  raw.exec('commit')
  assert.equal(busyTimeout(), before, 'the timeout of other statements is restored')
  const fault = new Error('the pause failed')
  other.exec('begin immediate')
  assert.throws(
    () =>
      beginWriting(raw, () => {
        throw fault
      }),
    fault,
  )
  assert.ok(!raw.isTransaction)
  assert.equal(busyTimeout(), before)
  other.close()
  raw.close()
})
