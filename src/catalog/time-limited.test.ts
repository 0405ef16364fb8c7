import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError, UnavailableError } from '../platform/errors.ts'
import { timeLimited } from './time-limited.ts'

const unavailable = (error: unknown) =>
  error instanceof TidemarkError && error.code === 'catalog_unavailable' && error.retryAfterSeconds === 1

test('returns a result that is in time, and passes the deadline to the store', async () => {
  const fromMs = Date.now()
  const answerBy = await timeLimited(60_000, async (by) => by)
  assert.ok(answerBy >= fromMs + 60_000 && answerBy <= Date.now() + 60_000)
})

test('is 503 without a result in time', async () => {
  await assert.rejects(
    timeLimited(1, () => new Promise(() => {})),
    unavailable,
  )
})

test('passes errors of the store on, and does not report defects as unavailability', async () => {
  for (const thrown of [new Error('no such table: document'), new TidemarkError('store_unavailable', 'away')]) {
    await assert.rejects(
      timeLimited(60_000, () => Promise.reject(thrown)),
      (error) => error === thrown,
    )
  }
})

test('treats a store that stops at the deadline as one that did not answer in time', async () => {
  const stopsAtDeadline = async (answerBy: number): Promise<never> => {
    while (Date.now() < answerBy) {}
    throw new UnavailableError('the listing passed its deadline')
  }
  await assert.rejects(timeLimited(5, stopsAtDeadline), unavailable)
})

test('handles a rejection of the store after the deadline', async () => {
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
