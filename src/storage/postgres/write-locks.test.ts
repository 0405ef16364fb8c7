import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginMigrating, beginWriting, copyCall, electionCall, lockNumbers } from './write-locks.ts'

// Processes of two versions exclude each other by these numbers: a change here breaks rolling upgrades.
test('a lock has the same number in every version', () => {
  assert.deepEqual(lockNumbers, {
    access: 0,
    operator: 1,
    content: 2,
    changes: 3,
    catalog: 4,
    indexSource: 5,
    live: 6,
    analysis: 7,
    exportSource: 8,
    erasures: 9,
    searchTexts: 10,
    history: 11,
    clock: 12,
    tokens: 50,
    migration: 100,
    vectors: 101,
    copy: 102,
    feeding: 103,
  })
  assert.equal(new Set(Object.values(lockNumbers)).size, Object.keys(lockNumbers).length)
})

test('the statements that take them stay the same too', () => {
  assert.equal(
    beginWriting({ locks: ['live', 'content'] }),
    'begin; select pg_advisory_xact_lock(1952738667, 6); select pg_advisory_xact_lock(1952738667, 2)',
  )
  assert.equal(
    beginWriting({ locks: ['tokens'], mayBeLost: true }),
    'begin; set local synchronous_commit = off; select pg_advisory_xact_lock(1952738667, 50)',
  )
  assert.match(beginMigrating, /; select pg_advisory_xact_lock\(1952738667, 100\)$/)
  assert.equal(electionCall('vectors'), 'select pg_try_advisory_lock(1952738667, 101) as taken')
  assert.equal(electionCall('feeding'), 'select pg_try_advisory_lock(1952738667, 103) as taken')
  assert.equal(electionCall('feeding/12ab34cd'), 'select pg_try_advisory_lock(1952738667, -981737858) as taken')
  assert.equal(electionCall('building/12ab34cd'), 'select pg_try_advisory_lock(1952738667, -543880785) as taken')
  assert.equal(copyCall, 'select pg_try_advisory_lock(1952738667, 102) as taken')
})
