import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from './metrics.ts'

test('the first who asks is told of the process since it was started, and nothing that was not measured', async () => {
  const metrics = new Metrics()
  // So much that what is told cannot have been used since the question.
  const used = () => process.cpuUsage().user / 1e6
  while (used() < 0.2) JSON.stringify(process.versions)
  const before = used()
  const text = await metrics.text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  assert.ok(value('process_cpu_user_seconds_total') >= before, text)
  assert.ok(value('process_cpu_seconds_total') >= value('process_cpu_user_seconds_total'), text)
  // Left out where the loop had no turn yet in which it could have been measured.
  assert.ok(!(value('nodejs_eventloop_lag_min_seconds') >= 60), 'not the largest number that there is')
  assert.equal(text.match(/^# TYPE process_cpu_seconds_total counter$/gm)?.length, 1)
  const [again] = await Promise.all([metrics.text(), metrics.text()])
  assert.match(again, /^process_cpu_seconds_total /m)
  assert.doesNotMatch(again, /NaN|9223372036/)
})
