import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mergePatch } from './merge-patch.ts'

/** The examples in the appendix of RFC 7396. */
const examples: [unknown, unknown, unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

test('the examples of RFC 7396', () => {
  for (const [target, patch, result] of examples) assert.deepEqual(mergePatch(target, patch), result)
})

test('patching twice is patching once, the target stays as it was, and no null is left from the patch', () => {
  const json = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = structuredClone(target)
      const once = mergePatch(target, patch)
      assert.deepEqual(mergePatch(once, patch), once)
      assert.deepEqual(target, before)
      for (const [name, value] of Object.entries(patch)) {
        assert.equal(Object.hasOwn(once as object, name), value !== null)
      }
    }),
  )
})

test('__proto__ is a name like any other', () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"admin":true}}')) as Record<string, unknown>
  assert.equal(Object.getPrototypeOf(merged), Object.prototype)
  assert.ok(Object.hasOwn(merged, '__proto__'))
  assert.equal(merged.admin, undefined)
})
