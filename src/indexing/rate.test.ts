import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rate } from './rate.ts'

test('the rate is that of the last minute, from the first step on; after a minute without a step there is none', () => {
  let nowMs = 1_000_000
  const rate = new Rate(() => nowMs)
  const step = (count: number, ms: number): void => {
    const startedAt = nowMs
    nowMs += ms
    rate.made(count, startedAt)
  }
  assert.equal(rate.perSecond, null)
  step(0, 1000)
  assert.equal(rate.perSecond, null)
  step(32, 2000)
  assert.equal(rate.perSecond, 16)
  step(32, 2000)
  assert.equal(rate.perSecond, 16)
  for (let i = 0; i < 100; i++) step(10, 1000)
  assert.ok(Math.abs(rate.perSecond! - 10) < 0.5, `${rate.perSecond}`)
  nowMs += 60_000
  assert.equal(rate.perSecond, null)
  step(8, 4000)
  assert.equal(rate.perSecond, 2)
})
