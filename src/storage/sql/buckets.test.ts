import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayExpression, dayOf, scoreBucketExpression, scoreBucketLast, scoreBucketOf } from './buckets.ts'

const raw = new DatabaseSync(':memory:')
const bucketsOf = raw.prepare(
  `select ${scoreBucketExpression('value')} as score, ${dayExpression('value')} as day from (select cast(? as bigint) as value)`,
)
const number = fc.oneof(
  fc.integer({ min: -120, max: 120 }),
  fc.maxSafeInteger(),
  fc.integer({ min: -8, max: 8 }).map((day) => day * 86_400_000),
  fc.integer({ min: -8, max: 8 }).map((day) => day * 86_400_000 - 1),
  fc.constantFrom(...[1, 2, 5].flatMap((step) => Array.from({ length: 11 }, (_, power) => step * 10 ** power))),
)

test('the database and the code put every number into the same bucket', () => {
  fc.assert(
    fc.property(number, (value) => {
      const { score, day } = bucketsOf.get(value) as { score: number; day: number }
      assert.equal(score, scoreBucketOf(value))
      // JavaScript has a negative zero, and SQL does not.
      assert.equal(day, dayOf(value) + 0)
    }),
    { numRuns: 2000 },
  )
  assert.deepEqual({ ...bucketsOf.get(null) }, { score: null, day: null })
})

test('buckets are monotonic, so a range is all buckets from its first to its last', () => {
  fc.assert(
    fc.property(number, number, (a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a]
      assert.ok(scoreBucketOf(low) <= scoreBucketOf(high))
      assert.ok(dayOf(low) <= dayOf(high))
      assert.ok(scoreBucketOf(low) >= 0 && scoreBucketOf(high) <= scoreBucketLast)
    }),
  )
})
