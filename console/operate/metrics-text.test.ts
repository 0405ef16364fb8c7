import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketsOf, increaseSince, quantile, readMetrics, soleValue, statsByOperation } from './metrics-text.ts'

const text = (fast: number, slow: number, failed: number): string => `# HELP x y
# TYPE tidemark_http_request_seconds histogram
tidemark_http_request_seconds_bucket{le="0.1",operation="search.default",status="200"} ${fast}
tidemark_http_request_seconds_bucket{le="1",operation="search.default",status="200"} ${fast + slow}
tidemark_http_request_seconds_bucket{le="+Inf",operation="search.default",status="200"} ${fast + slow}
tidemark_http_request_seconds_count{operation="search.default",status="200"} ${fast + slow}
tidemark_http_request_seconds_bucket{le="0.1",operation="search.default",status="503"} ${failed}
tidemark_http_request_seconds_bucket{le="+Inf",operation="search.default",status="503"} ${failed}
tidemark_http_request_seconds_count{operation="search.default",status="503"} ${failed}
process_resident_memory_bytes 1.5e+08
odd{a="x\\"y\\\\z\\n",b=""} NaN
not a line {
`

test('samples are read with their labels, and other lines are ignored', () => {
  const series = readMetrics(text(1, 2, 3))
  assert.equal(soleValue(series, 'process_resident_memory_bytes'), 150_000_000)
  assert.equal(soleValue(series, 'not_there'), null)
  assert.deepEqual(series.get('odd'), [{ labels: { a: 'x"y\\z\n', b: '' }, value: Number.NaN }])
  assert.deepEqual([...readMetrics('')], [])
})

test('responses of all statuses are summed by operation', () => {
  const found = statsByOperation(readMetrics(text(6, 3, 1))).get('search.default')!
  assert.deepEqual([found.requests, found.failures], [10, 1])
  assert.deepEqual(quantile(found, 0.35), { moreThan: 0, atMost: 0.1, part: 0.5 })
  assert.equal(quantile({ ...found, within: [] }, 0.5), null)
})

test('the increase between two scrapes counts only new requests, or all of them after a restart', () => {
  const [before, now] = [text(6, 3, 1), text(8, 3, 1)].map(
    (one) => statsByOperation(readMetrics(one)).get('search.default')!,
  )
  const between = increaseSince(before, now!)
  assert.deepEqual([between.requests, between.failures], [2, 0])
  assert.equal(quantile(between, 1)?.atMost, 0.1)
  assert.deepEqual(increaseSince(now, before!), before)
  assert.deepEqual(increaseSince(undefined, now!), now)
})

test('a histogram without other labels gives quantiles', () => {
  const text = 'left_bucket{le="0"} 9\nleft_bucket{le="10"} 10\nleft_bucket{le="+Inf"} 12\n'
  const left = bucketsOf(readMetrics(text), 'left')
  assert.deepEqual(quantile(left, 0.75), { moreThan: 0, atMost: 0, part: 1 })
  assert.deepEqual(quantile(left, 10 / 12), { moreThan: 0, atMost: 10, part: 1 })
  // The last bucket has no upper bound.
  const most = quantile(left, 0.95)!
  assert.deepEqual([most.moreThan, most.atMost], [10, Number.POSITIVE_INFINITY])
  assert.equal(quantile(bucketsOf(readMetrics(''), 'left'), 0.5), null)
})
