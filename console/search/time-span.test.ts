import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayAfter, isScattered, spanOf } from './time-span.ts'

const day = fc
  .integer({ min: -719_162, max: 2_932_896 })
  .map((number) => new Date(number * 86_400_000).toISOString().slice(0, 10))
const anyDay = fc.oneof(day, fc.constantFrom('0001-01-01', '9999-12-01', '9999-12-31'))
const counts = fc.uniqueArray(fc.record({ value: anyDay, count: fc.integer({ min: 1, max: 50 }) }), {
  selector: ({ value }) => value,
  maxLength: 30,
})

test('the bars are consecutive, cover the most documents that fit, and add up to the total with the documents outside', () => {
  fc.assert(
    fc.property(counts, fc.constantFrom('day', 'month'), (found, unit) => {
      const span = spanOf(found, unit)
      if (found.length === 0) return assert.equal(span, null)
      const { buckets, end, before, after } = span!
      const sum = (some: readonly { count: number }[]): number => some.reduce((total, { count }) => total + count, 0)
      assert.equal(sum(buckets) + before + after, sum(found))
      assert.ok(buckets.length <= 120)
      for (const [i, { day }] of buckets.entries()) assert.equal(dayAfter(day, unit), buckets[i + 1]?.day ?? end)
      assert.equal(sum(found.filter(({ value }) => value < buckets[0]!.day)), before)
      assert.equal(sum(found.filter(({ value }) => end !== '' && value >= end)), after)
      for (const { value } of found) {
        const first = unit === 'day' ? value : `${value.slice(0, 7)}-01`
        let last = first
        for (let i = 0; i < 120 && last !== ''; i += 1) last = dayAfter(last, unit)
        const within = found.filter((one) => one.value >= first && (last === '' || one.value < last))
        assert.ok(sum(within) <= sum(buckets), `from ${first}`)
      }
    }),
    { numRuns: 500 },
  )
})

test('a mistyped year does not change the unit of the others; years of documents are shown by month', () => {
  const [november, mistyped] = [
    [3, 1, 9].map((count, i) => ({ value: `2026-11-1${i}`, count })),
    [
      { value: '9999-01-01', count: 1 },
      { value: '0001-01-01', count: 2 },
    ],
  ]
  const all = [...november!, ...mistyped!]
  assert.deepEqual(spanOf(all, 'day'), {
    buckets: november!.map(({ value, count }) => ({ day: value, count })),
    end: '2026-11-13',
    before: 2,
    after: 1,
  })
  assert.equal(isScattered([...november!, { value: '9999-01-01', count: 1 }]), false)
  assert.equal(isScattered(['2020', '2022', '2024'].map((year) => ({ value: `${year}-01-01`, count: 5 }))), true)
  assert.equal(isScattered([]), false)
})
