import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { beginWriting, openSqlite } from './node-sqlite.ts'

test('the write lock is taken as soon as another process lets it go, however long it was waited for', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-lock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { raw } = openSqlite(join(folder, 'store.sqlite'), false)
  const other = new DatabaseSync(join(folder, 'store.sqlite'))
  const patience = () => raw.prepare('pragma busy_timeout').get()!.timeout
  const before = patience()
  other.exec('begin immediate')
  let looks = 0
  beginWriting(raw, () => {
    if (++looks === 50) other.exec('commit')
  })
  assert.equal(looks, 50)
  assert.ok(raw.isTransaction)
  assert.throws(() => other.exec('begin immediate'), /locked/)
  raw.exec('commit')
  assert.equal(patience(), before, 'whatever else needs a lock waits for it as before')
  const fault = new Error('what the wait failed with')
  other.exec('begin immediate')
  assert.throws(
    () =>
      beginWriting(raw, () => {
        throw fault
      }),
    fault,
  )
  assert.ok(!raw.isTransaction)
  assert.equal(patience(), before)
  other.close()
  raw.close()
})
