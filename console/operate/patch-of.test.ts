import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patchOf } from './patch-of.ts'

test('a merge patch names what is new or gone, however deep; lists are taken whole', () => {
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
