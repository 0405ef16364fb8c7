import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRate, vectorPace } from './vector-rate.ts'

test('a rate is written without an exponent, however large it is', () => {
  assert.deepEqual([0.314, 3.14, 31.4, 360, 123_456].map(formatRate), ['0.31', '3.1', '31', '360', '123456'])
  assert.equal(vectorPace(720, 360), '720 left at 360 per second, about 2 s')
})
