import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nestsDeeperThan } from './json-body.ts'

/** The depth of a value, counted by walking it. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test('the depth seen in the text is the depth of the value, brackets and quotes in texts notwithstanding', () => {
  const text = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'a', '\n', '\u00e9') })
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 6 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  }))
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (one, indent) => {
      const json = JSON.stringify(one, null, indent)
      const depth = depthOf(one)
      assert.ok(!nestsDeeperThan(depth, json))
      if (depth > 0) assert.ok(nestsDeeperThan(depth - 1, json))
    }),
    { numRuns: 2000 },
  )
})

test('any text at all is looked at to its end, quickly', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof nestsDeeperThan(10, text) === 'boolean'))
  for (const text of ['"', '"\\', '\\"', '"\\\\"[', `"${'\\'.repeat(1_000_001)}"`]) nestsDeeperThan(10, text)
})
