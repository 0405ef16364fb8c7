import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError } from '../errors.ts'
import { Permits } from './permits.ts'

test('so many at once and no more; a place given back twice is one place', () => {
  const permits = new Permits(2)
  const first = permits.take()
  permits.take()
  assert.throws(
    () => permits.take(),
    (error: unknown) => error instanceof TidemarkError && error.code === 'overloaded' && error.retryAfterSeconds === 1,
  )
  first()
  first()
  permits.take()
  assert.throws(() => permits.take())
})
