import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import pg from 'pg'
import { isFullDiskError, isMachineTrouble, RoomForWrites } from './full-disk.ts'
import { isFullDiskError as isFullDiskOfServer, isTransient } from './postgres/troubles.ts'

suite('errors of a full disk', () => {
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

  test('SQLite: a database that cannot grow is a full disk; an invalid query or an unopenable file is not', () => {
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

  test('PostgreSQL: the error code decides', () => {
    const errorWith = (code: string) => Object.assign(new pg.DatabaseError('no space left', 1, 'error'), { code })
    assert.ok(isFullDiskOfServer(errorWith('53100')))
    assert.ok(!isFullDiskOfServer(errorWith('42P01')))
    assert.ok(!isFullDiskOfServer(errorWith('XX000')))
    const refused = Object.assign(new pg.DatabaseError('could not write init file', 1, 'error'), { code: 'XX000' })
    assert.ok(isFullDiskOfServer(refused) && isTransient(refused), 'other connections are already open')
    assert.ok(!isFullDiskOfServer(Object.assign(new Error('x'), { code: '53100' })))
  })

  test('the disk counts as full from a refused write until the same call succeeds, or an ingest', () => {
    const room = new RoomForWrites()
    assert.ok(!room.isFull)
    const cause = new Error('full')
    const refusal = room.refused('content.ingest', cause)
    assert.deepEqual([refusal.code, refusal.retryAfterSeconds, refusal.cause], ['storage_full', 30, cause])
    assert.ok(room.isFull)
    room.written('access.recordUse')
    assert.ok(room.isFull)
    room.written('content.ingest')
    assert.ok(!room.isFull)
    room.refused('content.ingest', cause)
    room.refused('access.recordUse', cause)
    room.written('access.recordUse')
    assert.ok(room.isFull, 'documents were refused too')
    room.refused('access.recordUse', cause)
    room.written('content.ingest')
    assert.ok(!room.isFull, 'an ingest takes the most space')
  })
})
