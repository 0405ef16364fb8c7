import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { SearchTime } from './search-time.ts'

test('parallel calls count once, and no part takes longer than the search', async () => {
  const time = new SearchTime()
  const index = time.index({ keyword: () => setTimeout(20, { outcome: 'timed_out' }) } as never)
  await Promise.all([index.keyword({} as never), index.keyword({} as never), index.keyword({} as never)])
  await index.keyword({} as never)
  await assert.rejects(time.spend('embedding', () => setTimeout(1).then(() => Promise.reject(new Error('no')))))
  const parts = new Map(time.parts())
  assert.deepEqual([...parts.keys()], ['index', 'embedding'])
  // A timer may fire a little early.
  assert.ok(parts.get('index')! >= 0.035, `${parts.get('index')}`)
  assert.ok(parts.get('index')! + parts.get('embedding')! <= time.seconds)
})
