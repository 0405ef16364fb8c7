import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseRetryAfter, retryDelay } from './retry-delay.ts'

test('reads seconds and dates, and nothing else', () => {
  const now = Date.UTC(2030, 0, 1)
  assert.equal(parseRetryAfter('3', now), 3_000)
  assert.equal(parseRetryAfter('Tue, 01 Jan 2030 00:00:07 GMT', now), 7_000)
  assert.equal(parseRetryAfter('Mon, 31 Dec 2029 00:00:00 GMT', now), 0)
  assert.equal(parseRetryAfter('soon', now), null)
  assert.equal(parseRetryAfter(null, now), null)
})

test('doubles up to a limit, varies by up to half, and is never shorter than the provider asked for', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.option(fc.nat({ max: 60_000 })),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (attempt, retryAfterMs, share) => {
        const delay = retryDelay(attempt, { firstMs: 100, maxMs: 3_000 }, retryAfterMs, () => share)
        const step = Math.min(3_000, 100 * 2 ** (attempt - 1))
        assert.ok(delay >= step / 2 && delay >= (retryAfterMs ?? 0))
        assert.ok(delay <= Math.max(step, retryAfterMs ?? 0))
      },
    ),
  )
})
