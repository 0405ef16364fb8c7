import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { clearGaps } from './clear-gaps.ts'
import { openSqlite } from './node-sqlite.ts'
import { clearGap } from './page-gaps.ts'
import { markOverwritten, scrub } from './scrub.ts'

function freshPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-scrub-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'db.sqlite')
}

const mark = 'zqzq-not-to-be-found'
const countIn = (path: string): number => readFileSync(path, 'latin1').split(mark).length - 1

/** Fills a table, and an index of texts of very different lengths, with rows to keep and rows to delete in turn. */
function fill(raw: DatabaseSync, rows: number): void {
  raw.exec('create table t (id integer primary key, word text, gone int); create index by_word on t (word)')
  const insert = raw.prepare('insert into t (word, gone) values (?, ?)')
  raw.exec('begin')
  for (let i = 0; i < rows; i++) {
    const rank = (i * 7919) % rows
    insert.run(`${rank}-${i % 3 === 0 ? mark : 'kept'}-${'x'.repeat((i * 31) % 180)}`, i % 3 === 0 ? 1 : 0)
  }
  raw.exec('commit')
}

suite('removing deleted data from the file', () => {
  test('clears what SQLite leaves between the cells of its pages, while another connection reads and writes', async (t) => {
    const path = freshPath(t)
    const { raw } = openSqlite(path, false)
    markOverwritten(raw)
    fill(raw, 6000)
    for (let some = 0; some < 30; some++) raw.exec(`delete from t where gone = 1 and id % 30 = ${some}`)
    scrub(raw)
    assert.ok(countIn(path) > 0, 'there would be nothing to clear')
    const reader = openSqlite(path, true).raw
    const kept = reader.prepare('select count(*) as kept from t').get()!.kept
    await clearGaps(path)
    assert.equal(countIn(path), 0)
    // Cached pages must not bring deleted data back with the next change.
    raw.exec("update t set word = word || 'y' where id % 5 = 0")
    scrub(raw)
    assert.equal(countIn(path), 0)
    assert.equal(reader.prepare('select count(*) as kept from t').get()!.kept, kept)
    assert.equal(raw.prepare('pragma integrity_check').get()!.integrity_check, 'ok')
    assert.equal(raw.prepare('pragma user_version').get()!.user_version, 1)
    reader.close()
    raw.close()
  })

  test('the first scrub rewrites a store from before deletions were overwritten', (t) => {
    const path = freshPath(t)
    const old = new DatabaseSync(path)
    old.exec('pragma secure_delete = off; pragma journal_mode = wal')
    fill(old, 2000)
    old.exec('delete from t where gone = 1')
    old.close()
    assert.ok(countIn(path) > 0, 'there would be nothing to remove')
    const { raw } = openSqlite(path, false)
    scrub(raw)
    assert.equal(countIn(path), 0)
    assert.equal(raw.prepare('select count(*) as kept from t').get()!.kept, 2000 - 667)
    raw.close()
  })

  test('changes only the gaps of B-tree pages', () => {
    const bytes = fc.uint8Array({ minLength: 512, maxLength: 512 })
    const kinds = fc.constantFrom(2, 5, 10, 13, 0, 1, 83)
    fc.assert(
      fc.property(bytes, kinds, fc.nat(300), fc.nat(600), (content, kind, cells, cellsFrom) => {
        const page = Buffer.from(content)
        page[0] = kind
        page.writeUInt16BE(cells, 3)
        page.writeUInt16BE(cellsFrom, 5)
        const expected = Buffer.from(page)
        const from = (kind < 10 ? 12 : 8) + 2 * cells
        const hasGap = [2, 5, 10, 13].includes(kind) && from < cellsFrom && cellsFrom <= page.length
        if (hasGap) expected.fill(0, from, cellsFrom)
        const isChanged = !expected.equals(page)
        assert.equal(clearGap(page, false), isChanged)
        assert.deepEqual(page, expected)
      }),
    )
  })
})
