import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { bareDocument as document, executeHere } from '../../../../test/support/execute-here.ts'
import { type TimeBucket, timeBuckets } from '../../../platform/time-buckets.ts'
import type { InputDocument } from '../../algorithm.ts'
import { ExactSum } from './exact-sum.ts'
import { featureRollup } from './feature-rollup.ts'
import { RollupGroups } from './rollup-groups.ts'
import { bucketOf, type RollupField, rollupFields } from './rollup-keys.ts'

async function rollup(
  documents: readonly InputDocument[],
  by: readonly RollupField[],
  bucket: TimeBucket | null = null,
) {
  const { tables } = await executeHere(
    featureRollup,
    documents.map((one) => ({ document: one })),
    { by, bucket },
  )
  return tables.rollup!.rows
}

/** The definition, by brute force: for every possible row, look through all documents. */
function expected(documents: readonly InputDocument[], by: readonly RollupField[], bucket: TimeBucket | null) {
  const lists: Record<RollupField, (one: InputDocument) => readonly (string | null)[]> = {
    dataset: (one) => [one.datasetId],
    platform: (one) => [one.platform],
    language: (one) => [one.language],
    region: (one) => [one.region],
    content_type: (one) => [one.contentType],
    author: (one) => [one.authorId],
    topic: (one) => (one.topics.length === 0 ? [null] : one.topics),
    tag: (one) => (one.tags.length === 0 ? [null] : one.tags),
    classification: (one) => (one.classifications.length === 0 ? [null] : one.classifications),
  }
  const dayOf = (one: InputDocument): string | null => {
    if (bucket === null || one.publishedAt === null) return null
    const time = new Date(one.publishedAt)
    if (bucket === 'month') return `${time.toISOString().slice(0, 7)}-01`
    while (bucket === 'week' && time.getUTCDay() !== 1) time.setTime(time.getTime() - 86_400_000)
    return time.toISOString().slice(0, 10)
  }
  const metrics = [...new Set(documents.flatMap((one) => Object.keys(one.metrics)))].sort()
  let keys: (string | null)[][] = [[]]
  for (const field of by) {
    const values = [...new Set(documents.flatMap((one) => lists[field](one)))].sort(nullFirst)
    keys = keys.flatMap((key) => values.map((value) => [...key, value]))
  }
  const days = [...new Set(documents.map(dayOf))].sort(nullFirst)
  return keys.flatMap((key) =>
    days.flatMap((day) => {
      const own = documents.filter(
        (one) => dayOf(one) === day && by.every((field, i) => lists[field](one).includes(key[i]!)),
      )
      if (own.length === 0) return []
      const sums = (name: string, values: readonly number[]) => ({
        [`${name}_sum`]: values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0),
        [`${name}_count`]: values.length,
      })
      const scores = own.flatMap((one) => one.score ?? [])
      return {
        ...Object.fromEntries(by.map((field, i) => [field, key[i]])),
        bucket: day,
        documents: own.length,
        authors: new Set(own.filter((one) => one.authorId !== null).map((one) => `${one.platform} ${one.authorId}`))
          .size,
        ...sums('score', scores),
        ...Object.assign(
          {},
          ...metrics.map((name) =>
            sums(
              name,
              own.flatMap((one) => one.metrics[name] ?? []),
            ),
          ),
        ),
      }
    }),
  )
}

const nullFirst = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1

const code = fc.constantFrom('a', 'b', 'ç')
const codes = fc.uniqueArray(code, { maxLength: 3 })
/** Sums of such numbers are exact in any order. */
const dyadic = fc.integer({ min: -1000, max: 1000 }).map((n) => n / 8)
const documents = fc.array(
  fc.record({
    datasetId: code,
    platform: code,
    language: fc.option(code),
    region: fc.option(code),
    contentType: fc.option(code),
    publishedAt: fc.option(fc.integer({ min: Date.UTC(2025, 11, 20), max: Date.UTC(2026, 2, 3) })),
    title: fc.constant(null),
    authorId: fc.option(code),
    topics: codes,
    tags: codes,
    classifications: codes,
    score: fc.option(fc.integer({ min: -5, max: 5 })),
    metrics: fc.dictionary(fc.constantFrom('likes', 'shares', 'views'), dyadic),
  }),
  { maxLength: 25 },
)

suite('a rollup', () => {
  test('equals a scan of all documents, for any request', async () => {
    await fc.assert(
      fc.asyncProperty(
        documents,
        fc.subarray([...rollupFields], { minLength: 1, maxLength: 4 }),
        fc.option(fc.constantFrom(...timeBuckets)),
        async (some, by, bucket) => {
          const rows = await rollup(some, by, bucket)
          const plain = rows.map((row) => ({ ...row, bucket: row.bucket === null ? null : isoDay(row.bucket as Date) }))
          assert.deepEqual(plain, expected(some, by, bucket))
          if (rows[0] !== undefined) {
            assert.deepEqual(Object.keys(rows[0]).slice(0, by.length + 5), [
              ...by,
              'bucket',
              'documents',
              'authors',
              'score_sum',
              'score_count',
            ])
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  const isoDay = (day: Date): string => day.toISOString().slice(0, 10)

  test('a metric named score has columns of its own', async () => {
    const [row] = await rollup([{ ...document, score: 2, metrics: { score: 5 } }], ['dataset'])
    assert.deepEqual(
      [row!.score_sum, row!.score_count, row!['metrics.score_sum'], row!['metrics.score_count']],
      [2, 1, 5, 1],
    )
  })

  test('with too many combinations is refused, and the message says what to narrow', async () => {
    const refused = { code: 'input_too_large', message: /narrow input_scope, or name fewer fields in by/ }
    const words = Array.from({ length: 200 }, (_, i) => `w${i}`)
    const rich = { ...document, topics: words, tags: words, classifications: words }
    await assert.rejects(rollup([rich], ['topic', 'tag', 'classification']), refused)

    const limits = { groupsMax: 4, sumsMax: 6, combinationsMax: 20 }
    const add = (...some: readonly Partial<InputDocument>[]) => {
      const groups = new RollupGroups(['topic', 'tag'], null, limits)
      for (const one of some) groups.add({ ...document, ...one })
    }
    const two = { topics: ['a', 'b'], tags: ['c', 'd'] }
    add(two, two, two, two, two)
    assert.throws(() => add(two, two, two, two, two, {}), refused)
    assert.throws(() => add(two, { topics: ['e'] }), refused)
    assert.throws(() => add({ ...two, metrics: { likes: 1, shares: 1 } }), refused)
  })

  test('weeks start on Monday and months on the first, also in the distant past', () => {
    const cases: [string, TimeBucket, string][] = [
      ['2026-11-16T00:00:00.000Z', 'week', '2026-11-16'],
      ['2026-11-15T23:59:59.999Z', 'week', '2026-11-09'],
      ['2026-01-01T00:00:00.000Z', 'week', '2025-12-29'],
      ['2024-02-29T12:00:00.000Z', 'month', '2024-02-01'],
      ['0050-03-02T12:00:00.000Z', 'day', '0050-03-02'],
      ['1969-12-31T23:00:00.000Z', 'day', '1969-12-31'],
    ]
    for (const [time, bucket, day] of cases) assert.equal(isoDay(bucketOf(Date.parse(time), bucket)), day)
  })
})

test('an exact sum does not depend on the order of its terms', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.maxSafeInteger(), fc.integer({ min: -60, max: 60 })), { maxLength: 20 }),
      (terms) => {
        const sum = new ExactSum()
        let exact = 0n
        for (const [mantissa, exponent] of terms) {
          sum.add(mantissa * 2 ** exponent)
          exact += BigInt(mantissa) << BigInt(exponent + 60)
        }
        if (terms.length === 0) return assert.equal(sum.value, null)
        const right = Number(exact) / 2 ** 60
        assert.ok(Math.abs(sum.value! - right) <= Math.abs(right) * 2 ** -52, `${sum.value} ${right}`)
      },
    ),
  )
  const large = new ExactSum()
  for (const value of [1.7e308, 1.7e308, -1]) large.add(value)
  assert.equal(large.value, Number.POSITIVE_INFINITY)
})
