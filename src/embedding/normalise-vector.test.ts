import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EmbeddingError } from './embedding-error.ts'
import { normaliseVector, vectorsOrFault } from './normalise-vector.ts'

const code = (expected: string) => (error: unknown) => error instanceof EmbeddingError && error.code === expected

test('any finite vector gets length 1, any other is refused', () => {
  fc.assert(
    fc.property(fc.float32Array({ minLength: 1, maxLength: 64 }), (vector) => {
      if (!vector.every(Number.isFinite)) {
        assert.throws(() => normaliseVector(vector, vector.length), code('bad_answer'))
        return
      }
      const result = normaliseVector(vector, vector.length)
      if (typeof result === 'string') return
      const length = Math.hypot(...result)
      assert.ok(Math.abs(length - 1) < 1e-5, `length ${length}`)
    }),
  )
})

test('the largest and the smallest numbers neither overflow nor vanish', () => {
  for (const value of [3.4e38, 1e-45]) {
    const result = normaliseVector(Float32Array.of(value, value), 2)
    assert.ok(typeof result !== 'string' && Math.abs(result[0]! - Math.SQRT1_2) < 1e-6)
  }
})

test('zeros have no direction, and other dimensions are another model', () => {
  assert.equal(normaliseVector(new Float32Array(3), 3), 'unusable_vector')
  assert.throws(() => normaliseVector(Float32Array.of(1, 0), 3), code('wrong_dimensions'))
})

test('faults are reported together, by position', () => {
  const good = Float32Array.of(1)
  assert.deepEqual(vectorsOrFault([good, good]), [good, good])
  assert.throws(
    () => vectorsOrFault([good, 'unusable_vector', good, 'rejected_text']),
    (error: unknown) =>
      code('rejected_text')(error) && error instanceof EmbeddingError && String(error.textIndexes) === '1,3',
  )
  assert.throws(() => vectorsOrFault(['unusable_vector']), code('unusable_vector'))
})
