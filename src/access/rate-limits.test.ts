import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Rate, RateLimits } from './rate-limits.ts'

const rate: fc.Arbitrary<Rate> = fc.record({
  perSecond: fc.double({ min: 0.1, max: 1000, noNaN: true }),
  burst: fc.integer({ min: 1, max: 50 }),
})
/** Pauses between requests, in milliseconds: many at once, some short, a few long. */
const pauses = fc.array(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 20, noNaN: true }), fc.integer({ min: 0, max: 5000 })),
  {
    minLength: 1,
    maxLength: 200,
  },
)

test('in any window of time, at most burst + rate x time requests pass', () => {
  fc.assert(
    fc.property(rate, pauses, (limit, waits) => {
      const limits = new RateLimits()
      const passed: number[] = []
      let now = 1000
      for (const wait of waits) {
        now += wait
        if (limits.take('app', limit, now).allowed) passed.push(now)
      }
      for (let first = 0; first < passed.length; first++) {
        for (let last = first; last < passed.length; last++) {
          const seconds = (passed[last]! - passed[first]!) / 1000
          const most = limit.burst + limit.perSecond * seconds
          assert.ok(last - first + 1 <= most + 1e-6, `${last - first + 1} in ${seconds} s, at most ${most}`)
        }
      }
    }),
  )
})

test('a request passes after Retry-After seconds, and as many pass as the state says remain', () => {
  fc.assert(
    fc.property(rate, pauses, (limit, waits) => {
      const limits = new RateLimits()
      let now = 0
      for (const wait of waits) {
        now += wait
        const state = limits.take('app', limit, now)
        if (state.allowed) {
          assert.equal(state.retryAfterSeconds, 0)
          for (let left = state.remaining; left > 0; left--) assert.ok(limits.take('app', limit, now).allowed)
        } else {
          assert.ok(Number.isInteger(state.retryAfterSeconds) && state.retryAfterSeconds >= 1)
          now += state.retryAfterSeconds * 1000
          assert.ok(limits.take('app', limit, now).allowed)
        }
        assert.ok(state.remaining >= 0 && state.remaining < limit.burst)
        assert.ok(Number.isInteger(state.resetSeconds) && state.resetSeconds >= 0)
      }
    }),
    // Rounding of the times left the token incomplete after ten seconds.
    { examples: [[{ perSecond: 0.1, burst: 1 }, [1.8307218851987276e-8, 0, 0]]] },
  )
})

test('a bucket of one token a day fills after a day, however often it is used', () => {
  const limits = new RateLimits()
  const slow: Rate = { perSecond: 1 / 86_400, burst: 1 }
  assert.ok(limits.take('a', slow, 0).allowed)
  const everyMs = 80
  let now = 0
  do now += everyMs
  while (!limits.take('a', slow, now).allowed && now < 2 * 86_400_000)
  assert.ok(Math.abs(now - 86_400_000) < 1000, `after ${now / 1000} s`)
})

test('applications do not share a bucket', () => {
  const limits = new RateLimits()
  const one = { perSecond: 1, burst: 1 }
  assert.ok(limits.take('a', one, 0).allowed)
  assert.ok(!limits.take('a', one, 0).allowed)
  assert.ok(limits.take('b', one, 0).allowed)
})

test('a smaller burst applies from the next request on', () => {
  const limits = new RateLimits()
  limits.take('a', { perSecond: 1, burst: 100 }, 0)
  const state = limits.take('a', { perSecond: 1, burst: 2 }, 0)
  assert.deepEqual([state.allowed, state.remaining], [true, 1])
})

test('the rate of another application does not cause an empty bucket to be forgotten', () => {
  const limits = new RateLimits()
  const slow = { perSecond: 0.001, burst: 1 }
  assert.ok(limits.take('slow', slow, 0).allowed)
  const quick = { perSecond: 100_000, burst: 1 }
  for (let i = 0; i < 60_000; i++) limits.take(`quick ${i}`, quick, 1000)
  assert.ok(!limits.take('slow', slow, 2000).allowed)
})
