import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import pg from 'pg'
import { isFullDiskError, isMachineTrouble, RoomForWrites } from './full-disk.ts'
import { isFullDiskError as isFullDiskOfServer, isPassing } from './postgres/troubles.ts'

suite('what a database says of a full disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-full-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))

  function thrownBy(work: () => unknown): unknown {
    try {
      work()
    } catch (error) {
      return error
    }
    return assert.fail('it did not throw')
  }

  test('SQLite without another page is a full disk; a fault in a query, or a file that cannot be opened, is none', () => {
    const path = join(folder, 'small.sqlite')
    const database = new DatabaseSync(path)
    database.exec('create table t (x text); pragma max_page_count = 4')
    const full = thrownBy(() => database.prepare('insert into t values (?)').run('x'.repeat(100_000)))
    assert.ok(isFullDiskError(full, path))
    assert.ok(isMachineTrouble(full, path))
    const fault = thrownBy(() => database.prepare('select * from nothing'))
    assert.ok(!isFullDiskError(fault, path) && !isMachineTrouble(fault, path))
    database.close()
    const elsewhere = join(folder, 'absent', 'a.sqlite')
    const absent = thrownBy(() => new DatabaseSync(elsewhere))
    assert.ok(!isFullDiskError(absent, path), 'there is room')
    assert.ok(isMachineTrouble(absent, path))
    assert.ok(isFullDiskError(Object.assign(new Error('write'), { code: 'ENOSPC' }), path))
  })

  test('PostgreSQL says it by its code', () => {
    const said = (code: string) => Object.assign(new pg.DatabaseError('no space left', 1, 'error'), { code })
    assert.ok(isFullDiskOfServer(said('53100')))
    assert.ok(!isFullDiskOfServer(said('42P01')))
    assert.ok(!isFullDiskOfServer(said('XX000')))
    const refused = Object.assign(new pg.DatabaseError('could not write init file', 1, 'error'), { code: 'XX000' })
    assert.ok(isFullDiskOfServer(refused) && isPassing(refused), 'others are connected already')
    assert.ok(!isFullDiskOfServer(Object.assign(new Error('x'), { code: '53100' })))
  })

  test('room is lacking from a refused write on, until such a one is done: others may need no room', () => {
    const room = new RoomForWrites()
    assert.ok(!room.isLacking)
    const cause = new Error('full')
    const refusal = room.refused('content.ingest', cause)
    assert.deepEqual([refusal.code, refusal.retryAfterSeconds, refusal.cause], ['storage_full', 30, cause])
    assert.ok(room.isLacking)
    room.written('access.recordUse')
    assert.ok(room.isLacking)
    room.written('content.ingest')
    assert.ok(!room.isLacking)
    room.refused('content.ingest', cause)
    room.refused('access.recordUse', cause)
    room.written('access.recordUse')
    assert.ok(room.isLacking, 'documents were refused too')
    room.refused('access.recordUse', cause)
    room.written('content.ingest')
    assert.ok(!room.isLacking, 'there is room for what takes the most')
  })
})
