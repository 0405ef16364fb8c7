import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError } from '../platform/errors.ts'
import { checkInterval, ingestWindow } from './listing-times.ts'

const dayMs = 86_400_000
const nowMs = Date.UTC(2026, 10, 15)
const refused = (path: string) => (error: unknown) =>
  error instanceof TidemarkError && error.code === 'invalid_document_query' && error.details?.[0]?.path === path

test('the window is the last 24 hours, from the start until now, or the 24 hours before the end', () => {
  assert.deepEqual(ingestWindow(null, null, false, nowMs), { from: nowMs + 1 - dayMs, to: nowMs + 1 })
  assert.deepEqual(ingestWindow(5, 9, false, nowMs), { from: 5, to: 9 })
  assert.deepEqual(ingestWindow(nowMs - 5, null, false, nowMs), { from: nowMs - 5, to: nowMs + 1 })
  assert.deepEqual(ingestWindow(null, nowMs - 9, false, nowMs), { from: nowMs - 9 - dayMs, to: nowMs - 9 })
})

test('an exact lookup without times has no window', () => {
  assert.deepEqual(ingestWindow(null, null, true, nowMs), { from: null, to: null })
  assert.deepEqual(ingestWindow(null, nowMs, true, nowMs), { from: nowMs - dayMs, to: nowMs })
  assert.throws(() => ingestWindow(nowMs - 32 * dayMs, null, true, nowMs), refused('created_from'))
})

test('the window is at most 31 days to the millisecond, also if it ends now', () => {
  assert.equal(ingestWindow(nowMs - 31 * dayMs, nowMs, false, nowMs).to, nowMs)
  assert.throws(() => ingestWindow(nowMs - 31 * dayMs - 1, nowMs, false, nowMs), refused('created_from'))
  assert.equal(ingestWindow(nowMs - 31 * dayMs, null, false, nowMs).from, nowMs - 31 * dayMs)
  assert.throws(() => ingestWindow(nowMs - 31 * dayMs - 1, null, false, nowMs), refused('created_from'))
})

test('a start at or after its end is refused', () => {
  assert.throws(() => ingestWindow(nowMs + 1, null, false, nowMs), refused('created_from'))
  assert.doesNotThrow(() => ingestWindow(nowMs, null, false, nowMs))
  const time = '2026-11-15T08:30:00.0005Z'
  for (const name of ['published', 'created'] as const) {
    const [from, to] = [`${name}_from`, `${name}_to`]
    assert.throws(() => checkInterval({ [from]: time, [to]: time }, name), refused(from))
    assert.doesNotThrow(() => checkInterval({ [from]: time }, name))
    assert.doesNotThrow(() => checkInterval({ [from]: time, [to]: time.replace('5Z', '51Z') }, name))
  }
})
