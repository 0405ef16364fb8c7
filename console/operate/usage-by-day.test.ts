import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byDay, usageByApplication } from './usage-by-day.ts'

const line = (application_id: string, day: string, operation: string, used: number) => ({
  application_id,
  day,
  operation,
  used,
})
const usage = [
  line('a', '2026-03-02', 'search.default', 2),
  line('b', '2026-03-02', 'search.default', 3),
  line('b', '2026-02-28', 'account.read', 9),
  line('b', '2026-02-28', 'search.default', 1),
]

test('every day is listed, in order', () => {
  assert.deepEqual(byDay(usage, '2026-02-28', '2026-03-03'), [
    ['2026-02-28', 10],
    ['2026-03-01', 0],
    ['2026-03-02', 5],
    ['2026-03-03', 0],
  ])
})

test('applications and their operations are sorted by requests, the most first', () => {
  assert.deepEqual(usageByApplication(usage), [
    {
      applicationId: 'b',
      requests: 13,
      operations: [
        ['account.read', 9],
        ['search.default', 4],
      ],
    },
    { applicationId: 'a', requests: 2, operations: [['search.default', 2]] },
  ])
})
