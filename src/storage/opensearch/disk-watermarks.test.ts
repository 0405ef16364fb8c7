import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freeBytes } from './disk-watermarks.ts'

test('watermarks are converted to free bytes from every notation of OpenSearch', () => {
  const total = 1000 * 2 ** 30
  const marks = ['85%', '0.85', '150gb', '153600mb', '100%', 'what is this']
  const left = marks.map((mark) => Math.round(freeBytes(mark, total) / 2 ** 30))
  assert.deepEqual(left, [150, 150, 150, 150, 0, 1000])
})
