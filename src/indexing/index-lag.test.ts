import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { lagLimits } from '../search/limits.ts'
import { IndexLag } from './index-lag.ts'

const { standingStillMs, lateMs } = lagLimits

suite('an index that is behind', () => {
  /** A lag with its own clock, in milliseconds. */
  function lagAt() {
    const clock = { now: 1000 }
    return { clock, lag: new IndexLag(() => clock.now) }
  }

  test('an index is not behind while nothing waits', () => {
    const { clock, lag } = lagAt()
    lag.stored(0)
    clock.now += 10 * lateMs
    assert.equal(lag.isBehind, false)
    lag.indexed(7)
    lag.stored(7)
    clock.now += 10 * lateMs
    assert.equal(lag.isBehind, false)
  })

  test('an index that makes no progress is behind after the shorter limit, until it catches up', () => {
    const { clock, lag } = lagAt()
    lag.indexed(7)
    clock.now += 10 * lateMs
    lag.stored(8)
    clock.now += standingStillMs
    assert.equal(lag.isBehind, false)
    clock.now += 1
    assert.equal(lag.isBehind, true)
    lag.indexed(8)
    assert.equal(lag.isBehind, false)
  })

  test('under constant writes, an index is behind only if it is late by more than the longer limit', () => {
    const { clock, lag } = lagAt()
    const goOn = (seconds: number, lateBy: (second: number) => number): boolean[] =>
      Array.from({ length: seconds }, (_, second) => {
        clock.now += 1000
        const stored = clock.now / 1000
        lag.stored(stored)
        lag.indexed(stored - lateBy(second))
        return lag.isBehind
      })
    assert.ok(!goOn(120, () => 20).includes(true))
    const slower = goOn(120, (second) => 20 + second / 2)
    // By then a document that is 31 s old is not indexed yet: one comes in every second.
    assert.equal(slower.indexOf(true), 23)
    assert.ok(slower.slice(23).every(Boolean))
    const faster = goOn(120, (second) => Math.max(0, 80 - second))
    assert.equal(faster.lastIndexOf(true), 48)
  })

  test('the newest revision also counts after a long backlog', () => {
    const { clock, lag } = lagAt()
    for (let revision = 1; revision <= 200; revision++) {
      lag.stored(revision)
      clock.now += 1000
    }
    lag.indexed(150)
    assert.equal(lag.isBehind, true)
    lag.indexed(199)
    assert.equal(lag.isBehind, false)
    clock.now += standingStillMs + 1
    assert.equal(lag.isBehind, true)
    lag.indexed(200)
    assert.equal(lag.isBehind, false)
  })

  test('revisions that the store no longer has do not count; others count from when they were first seen', () => {
    const { clock, lag } = lagAt()
    lag.indexed(7)
    lag.stored(9)
    clock.now += standingStillMs + 1
    lag.stored(8)
    assert.equal(lag.isBehind, true)
    lag.stored(7)
    assert.equal(lag.isBehind, false)
    lag.stored(8)
    assert.equal(lag.isBehind, false)
  })

  test('an index that was emptied is behind', () => {
    const { clock, lag } = lagAt()
    lag.indexed(7)
    lag.indexed(0)
    lag.stored(7)
    clock.now += standingStillMs + 1
    assert.equal(lag.isBehind, true)
  })
})
