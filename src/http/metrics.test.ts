import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from './metrics.ts'

test('the first scrape covers the process since its start, and shows nothing that was not measured', async () => {
  const metrics = new Metrics()
  // Enough that the work between the two readings cannot account for it.
  const used = () => process.cpuUsage().user / 1e6
  while (used() < 0.2) JSON.stringify(process.versions)
  const before = used()
  const text = await metrics.text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  assert.ok(value('process_cpu_user_seconds_total') >= before, text)
  assert.ok(value('process_cpu_seconds_total') >= value('process_cpu_user_seconds_total'), text)
  // Left out if the event loop had no iteration in which it could be measured.
  assert.ok(!(value('nodejs_eventloop_lag_min_seconds') >= 60), 'not the largest number that there is')
  assert.equal(text.match(/^# TYPE process_cpu_seconds_total counter$/gm)?.length, 1)
  const [again] = await Promise.all([metrics.text(), metrics.text()])
  assert.match(again, /^process_cpu_seconds_total /m)
  assert.doesNotMatch(again, /NaN|9223372036/)
})

const shown = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(name))

test('concurrent scrapes share one fetch, and values that are late or fail are not shown', async () => {
  const metrics = new Metrics()
  const failures: string[] = []
  metrics.reportTo({ failed: (_, error) => failures.push((error as Error).message), worked: () => {} })
  let fetches = 0
  metrics.gauges({ a_one: 'One.', a_many: { help: 'Many.', labels: ['of'] } }, async () => {
    fetches++
    return { a_one: 7, a_many: [{ labels: { of: 'x' }, value: 1 }] }
  })
  metrics.gauges({ b_failing: 'Fails.', b_labelled: { help: 'Fails too.', labels: ['of'] } }, async () => {
    throw new Error('away')
  })
  metrics.gauges({ c_silent: 'Never resolves.' }, () => new Promise(() => {}))
  const [text] = await Promise.all([metrics.text(), metrics.text(), metrics.text()])
  assert.equal(fetches, 1)
  assert.deepEqual(shown(text, 'a_'), ['a_one 7', 'a_many{of="x"} 1'])
  assert.deepEqual([...shown(text, 'b_'), ...shown(text, 'c_')], [])
  assert.ok(failures.includes('away') && failures.includes('c_silent: no value within 2000 ms'), failures.join())
})

test('a missing value is not shown, and neither is the series of a label that no longer exists', async () => {
  const metrics = new Metrics()
  let value: number | null = null
  let of = 'x'
  metrics.gauge({ name: 'maybe', help: 'Sometimes.' }, () => value)
  metrics.gauge({ name: 'some', help: 'Some.', labels: ['of'] }, () => [{ labels: { of }, value: 1 }])
  assert.deepEqual(shown(await metrics.text(), 'maybe'), [])
  assert.deepEqual(shown(await metrics.text(), 'some'), ['some{of="x"} 1'])
  value = 3
  of = 'y'
  assert.deepEqual(shown(await metrics.text(), 'maybe'), ['maybe 3'])
  assert.deepEqual(shown(await metrics.text(), 'some'), ['some{of="y"} 1'])
})

test('a label with any number of values has a series for some of them, and one for all others', async () => {
  const metrics = new Metrics()
  const count = metrics.counter({
    name: 'refused_total',
    help: 'Refused.',
    labels: ['code', 'who'],
    known: [{ code: 'rate', who: 'other' }],
    anyNumber: 'who',
  })
  for (let i = 0; i < 1000; i++) count({ code: 'rate', who: `app_${i}` })
  count({ code: 'quota', who: 'app_0' })
  const series = shown(await metrics.text(), 'refused_total')
  assert.equal(series.length, 20 + 1 + 1)
  assert.ok(series.includes('refused_total{code="rate",who="other"} 980'))
  assert.ok(series.includes('refused_total{code="quota",who="app_0"} 1'))
})

test('a histogram counts each value in its bucket and in all above it, by labels and without', async () => {
  const metrics = new Metrics()
  const labels = ['operation', 'status'] as const
  const known = [{ operation: 'known', status: '200' }]
  const observe = metrics.histogram({ name: 'took', help: 'Took.', labels, known, buckets: [0.1, 1] })
  for (const value of [0.05, 0.1, 0.5, 7]) observe({ operation: 'read', status: '200' }, value)
  observe({ status: '400', operation: 'read' }, 1)
  const alone = metrics.histogram({ name: 'alone', help: 'Alone.', buckets: [0] })
  alone({}, 0)
  alone({}, 2)
  const text = await metrics.text()
  assert.match(text, /^# HELP took Took\.\n# TYPE took histogram\n/m)
  assert.deepEqual(shown(text, 'took'), [
    'took_bucket{le="0.1",operation="known",status="200"} 0',
    'took_bucket{le="1",operation="known",status="200"} 0',
    'took_bucket{le="+Inf",operation="known",status="200"} 0',
    'took_sum{operation="known",status="200"} 0',
    'took_count{operation="known",status="200"} 0',
    'took_bucket{le="0.1",operation="read",status="200"} 2',
    'took_bucket{le="1",operation="read",status="200"} 3',
    'took_bucket{le="+Inf",operation="read",status="200"} 4',
    'took_sum{operation="read",status="200"} 7.65',
    'took_count{operation="read",status="200"} 4',
    'took_bucket{le="0.1",status="400",operation="read"} 0',
    'took_bucket{le="1",status="400",operation="read"} 1',
    'took_bucket{le="+Inf",status="400",operation="read"} 1',
    'took_sum{status="400",operation="read"} 1',
    'took_count{status="400",operation="read"} 1',
  ])
  assert.deepEqual(shown(text, 'alone'), [
    'alone_bucket{le="0"} 1',
    'alone_bucket{le="+Inf"} 2',
    'alone_sum 2',
    'alone_count 2',
  ])
})
