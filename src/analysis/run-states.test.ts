import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { nextStatus, type RunEvent, runStatuses, statusesBefore, unfinishedStatuses } from './run-states.ts'

const events: readonly RunEvent[] = ['take', 'begin', 'succeed', 'fail', 'cancel', 'expire']

suite('the states of a run', () => {
  test('a final state can only become expired, and expired cannot change', () => {
    for (const status of ['succeeded', 'failed', 'cancelled'] as const) {
      for (const event of events) assert.equal(nextStatus(status, event), event === 'expire' ? 'expired' : null)
    }
    for (const event of events) assert.equal(nextStatus('expired', event), null)
  })

  test('every final state can be reached from every unfinished one', () => {
    for (const status of unfinishedStatuses) {
      const reached = new Set([status])
      for (const one of reached) {
        for (const event of events) {
          const next = nextStatus(one, event)
          if (next !== null) reached.add(next)
        }
      }
      for (const final of ['succeeded', 'failed', 'cancelled', 'expired'] as const) assert.ok(reached.has(final))
    }
  })

  test('the states before an event are those in which it is possible', () => {
    for (const event of events) {
      assert.deepEqual(
        statusesBefore(event),
        runStatuses.filter((status) => nextStatus(status, event) !== null),
      )
    }
    assert.deepEqual(unfinishedStatuses, ['queued', 'validating', 'running'])
  })
})
