import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError, UnavailableError } from '../platform/errors.ts'
import { timeLimited } from './time-limited.ts'

const unavailable = (error: unknown) =>
  error instanceof TidemarkError && error.code === 'catalog_unavailable' && error.retryAfterSeconds === 1

test('an answer in time is returned, and the store gets the deadline', async () => {
  const fromMs = Date.now()
  const answerBy = await timeLimited(60_000, async (by) => by)
  assert.ok(answerBy >= fromMs + 60_000 && answerBy <= Date.now() + 60_000)
})

test('no answer in time is 503', async () => {
  await assert.rejects(
    timeLimited(1, () => new Promise(() => {})),
    unavailable,
  )
})

test('errors of the store are passed on: a defect is not reported as unavailability', async () => {
  for (const thrown of [new Error('no such table: document'), new TidemarkError('store_unavailable', 'away')]) {
    await assert.rejects(
      timeLimited(60_000, () => Promise.reject(thrown)),
      (error) => error === thrown,
    )
  }
})

test('a store that gives up at the deadline counts as one that did not answer in time', async () => {
  const givesUp = async (answerBy: number): Promise<never> => {
    while (Date.now() < answerBy) {}
    throw new UnavailableError('nobody waits any longer')
  }
  await assert.rejects(timeLimited(5, givesUp), unavailable)
})

test('a store that fails after its time leaves nothing unhandled', async () => {
  let fail = (_error: Error): void => {}
  const late = new Promise<never>((_, reject) => {
    fail = reject
  })
  await assert.rejects(
    timeLimited(1, () => late),
    unavailable,
  )
  fail(new Error('too late to matter'))
  await new Promise((resolve) => setImmediate(resolve))
})
