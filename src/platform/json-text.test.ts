import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { columnOfFault, exceededJsonLimit, jsonLimits, positionOfFault } from './json-text.ts'

/** Returns the depth of a value. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

/** Returns the number of values in a value, with itself. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, one) => sum + valuesIn(one), 1)
}

const text = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', 'a', '\n', '\u00e9') })
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 6 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
}))
const endless = Number.POSITIVE_INFINITY

test('depth and number of values are found in the text, whatever brackets and quotes its strings have', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (one, indent) => {
      const json = JSON.stringify(one, null, indent)
      const levels = depthOf(one)
      assert.equal(exceededJsonLimit(json, { levels, values: endless }), null)
      if (levels > 0) assert.equal(exceededJsonLimit(json, { levels: levels - 1, values: endless }), 'levels')
      const values = valuesIn(one)
      assert.equal(exceededJsonLimit(json, { levels: endless, values: 2 * values }), null)
      if (values > 1) assert.equal(exceededJsonLimit(json, { levels: endless, values: values - 1 }), 'values')
    }),
    { numRuns: 2000 },
  )
})

test('any text is scanned to its end, quickly', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => [null, 'levels'].includes(exceededJsonLimit(any, jsonLimits))),
  )
  for (const odd of ['"', '"\\', '\\"', '"\\\\"[', `"${'\\'.repeat(1_000_001)}"`]) {
    assert.equal(exceededJsonLimit(odd, jsonLimits), null)
  }
})

test('the position of a JSON fault is reported as far as the parser knows it, without any of the text', () => {
  const faultOf = (broken: string) => {
    try {
      JSON.parse(broken)
    } catch (error) {
      return [positionOfFault(error), columnOfFault(error)]
    }
    return null
  }
  assert.deepEqual(faultOf('{"a": 1,\n "b" 2}'), [' (line 2, column 6)', ' (column 6)'])
  assert.deepEqual(faultOf('secret'), ['', ''])
})
