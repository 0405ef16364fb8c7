import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { test } from 'node:test'
import { withDeadline } from './with-deadline.ts'

test('aborts after the time limit', async () => {
  await withDeadline(1, undefined, async (signal) => {
    await once(signal, 'abort')
    assert.equal((signal.reason as Error).name, 'TimeoutError')
  })
})

test('a time limit in the past aborts too, and Node prints no warning', async (t) => {
  const warned = t.mock.method(process, 'emitWarning', () => {})
  await withDeadline(-5, undefined, async (signal) => void (await once(signal, 'abort')))
  assert.equal(warned.mock.callCount(), 0)
})

test('aborts with its parent, even one that aborted before, and removes its listener', async () => {
  const parent = new AbortController()
  const run = withDeadline(60_000, parent.signal, async (signal) => {
    assert.equal(getEventListeners(parent.signal, 'abort').length, 1)
    await once(signal, 'abort')
    return signal.reason
  })
  parent.abort('enough')
  assert.equal(await run, 'enough')
  assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
  await withDeadline(60_000, parent.signal, async (signal) => assert.ok(signal.aborted))
  assert.equal(getEventListeners(parent.signal, 'abort').length, 0)
})
