import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dueAt } from './schedule.ts'
import type { WaitingSubscription } from './subscription-store.ts'

const minute = 60_000
const createdAt = 1_800_000_000_000

const waiting = (
  executionMode: 'on_change' | 'scheduled' | 'hybrid',
  last: WaitingSubscription['last'],
  changes: { readonly intervalSeconds?: number | null; readonly tries?: number } = {},
): WaitingSubscription => ({
  subscription: {
    subscriptionId: 'sub',
    applicationId: 'app',
    name: 'n',
    analysisType: 'knn_graph',
    inputScope: { dataset_ids: ['news'] },
    executionMode,
    embeddingProfileId: null,
    parameters: null,
    intervalSeconds: changes.intervalSeconds === undefined ? 600 : changes.intervalSeconds,
    artifactRetentionDays: null,
    paused: false,
    createdAt,
    updatedAt: createdAt,
    checkpoint: null,
  },
  turn: 1,
  tries: changes.tries ?? 0,
  followedThrough: 0,
  last,
})
const ran = (startedAt: number, isComplete = true) => ({ startedAt, endedAt: startedAt + 5000, isComplete })

test('intervals are counted from creation, and missed ones are not made up', () => {
  fc.assert(
    fc.property(fc.integer({ min: 60, max: 1_000_000 }), fc.nat(100 * 86_400_000), (intervalSeconds, sinceMs) => {
      const due = dueAt(waiting('scheduled', ran(createdAt + sinceMs), { intervalSeconds }), null)
      assert.equal((due - createdAt) % (intervalSeconds * 1000), 0)
      assert.ok(due > createdAt + sinceMs && due <= createdAt + sinceMs + intervalSeconds * 1000)
    }),
  )
  // The clock was behind the one that created the subscription, or was read before the creation.
  assert.equal(dueAt(waiting('scheduled', ran(createdAt - 7)), null), createdAt + 10 * minute)
  const withoutInterval = waiting('scheduled', ran(createdAt), { intervalSeconds: null })
  assert.equal(dueAt(withoutInterval, null), createdAt + 86_400_000)
})

test('a run starts when changes have settled, or five minutes after the first', () => {
  const one = waiting('on_change', ran(createdAt))
  const changed = (firstAt: number, lastAt: number) => ({ firstAt: createdAt + firstAt, lastAt: createdAt + lastAt })
  assert.equal(dueAt(one, null), Infinity)
  assert.equal(dueAt(one, changed(0, 0)), createdAt + 30_000)
  assert.equal(dueAt(one, changed(0, 2 * minute)), createdAt + 2 * minute + 30_000)
  assert.equal(dueAt(one, changed(0, 9 * minute)), createdAt + 5 * minute)
  assert.equal(dueAt(waiting('hybrid', ran(createdAt)), null), createdAt + 10 * minute)
  assert.equal(dueAt(waiting('hybrid', ran(createdAt)), changed(0, 0)), createdAt + 30_000)
  assert.equal(dueAt(waiting('scheduled', ran(createdAt)), changed(0, 0)), createdAt + 10 * minute)
})

test('after an unsuccessful or incomplete run, the pause before the next one doubles', () => {
  const afterTries = (tries: number) => dueAt(waiting('on_change', ran(createdAt, false), { tries }), null) - createdAt
  assert.deepEqual(
    [1, 2, 3, 6, 7, 100].map((tries) => (afterTries(tries) - 5000) / minute),
    [1, 2, 4, 32, 60, 60],
  )
  assert.equal(dueAt(waiting('scheduled', ran(createdAt, false), { tries: 1 }), null), createdAt + 10 * minute)
})

test('the first run is due at once', () => {
  for (const mode of ['on_change', 'scheduled', 'hybrid'] as const) {
    assert.equal(dueAt(waiting(mode, null), null), -Infinity)
  }
})
