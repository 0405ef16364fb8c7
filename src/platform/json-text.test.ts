import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { columnOfFault, jsonLimits, passedJsonLimit, placeOfFault } from './json-text.ts'

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

test('depth and number of values are seen in the text, brackets and quotes in texts notwithstanding', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (one, indent) => {
      const json = JSON.stringify(one, null, indent)
      const levels = depthOf(one)
      assert.equal(passedJsonLimit(json, { levels, values: endless }), null)
      if (levels > 0) assert.equal(passedJsonLimit(json, { levels: levels - 1, values: endless }), 'levels')
      const values = valuesIn(one)
      assert.equal(passedJsonLimit(json, { levels: endless, values: 2 * values }), null)
      if (values > 1) assert.equal(passedJsonLimit(json, { levels: endless, values: values - 1 }), 'values')
    }),
    { numRuns: 2000 },
  )
})

test('any text at all is looked at to its end, quickly', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => [null, 'levels'].includes(passedJsonLimit(any, jsonLimits))),
  )
  for (const odd of ['"', '"\\', '\\"', '"\\\\"[', `"${'\\'.repeat(1_000_001)}"`]) {
    assert.equal(passedJsonLimit(odd, jsonLimits), null)
  }
})

test('the position of a JSON fault is reported as far as the parser knows it, without any of the text', () => {
  const told = (broken: string) => {
    try {
      JSON.parse(broken)
    } catch (error) {
      return [placeOfFault(error), columnOfFault(error)]
    }
    return null
  }
  assert.deepEqual(told('{"a": 1,\n "b" 2}'), [' (line 2, column 6)', ' (column 6)'])
  assert.deepEqual(told('secret'), ['', ''])
})
