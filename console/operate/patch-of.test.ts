import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patchOf } from './patch-of.ts'

test('a merge patch has changed and removed fields at any depth; lists are replaced as a whole', () => {
  const before = { burst: 5, live: { enabled: true, max_concurrent: 2 }, analysis: { types: ['knn_graph'] } }
  const after = { burst: 6, live: { enabled: true }, analysis: { types: ['clustering'] }, analysis_enabled: true }
  assert.deepEqual(patchOf(before, after), {
    burst: 6,
    live: { enabled: true, max_concurrent: null },
    analysis: { types: ['clustering'] },
    analysis_enabled: true,
  })
  assert.deepEqual(patchOf(before, {}), { burst: null, live: null, analysis: null })
})
