import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError, UnavailableError } from '../platform/errors.ts'
import { CallLost } from '../threads/calls.ts'
import { errorFrom } from './error-replies.ts'

test('an unavailable part is 503 with the error code of the area; a defect is 500', () => {
  for (const error of [
    new UnavailableError('/data/search.sqlite is damaged'),
    new CallLost('the thread exited', true, null),
  ]) {
    for (const [area, code] of [
      [{ unavailable: 'catalog_unavailable' }, 'catalog_unavailable'],
      [{ unavailable: 'search_backend_unavailable' }, 'search_backend_unavailable'],
      [{}, 'store_unavailable'],
    ] as const) {
      const refusal = errorFrom(error, area)
      assert.deepEqual([refusal.code, refusal.status, refusal.retryAfterSeconds], [code, 503, 1])
      assert.equal(refusal.cause, error)
      assert.doesNotMatch(refusal.message, /damaged|exited/)
    }
  }
  assert.equal(errorFrom(new Error('broken'), {}).code, 'internal')
  const own = new TidemarkError('storage_full', 'full')
  assert.equal(errorFrom(own, { unavailable: 'catalog_unavailable' }), own)
})
