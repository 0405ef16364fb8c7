import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clipped, fitting, fittingFields, partOf, tokensIn } from './token-budget.ts'

const text = fc.string({ unit: 'binary', maxLength: 300 })

test('a text is split into parts that fit as JSON, and together are the whole text', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 12, max: 60 }), (whole, tokens) => {
      let read = ''
      for (let from: number | null = 0; from !== null; ) {
        const { part, next } = partOf(whole, from, tokens)
        assert.ok(tokensIn(JSON.stringify(part)) <= tokens + 2, `${tokensIn(JSON.stringify(part))} of ${tokens}`)
        assert.ok(part.isWellFormed())
        assert.ok(next === null || next > from, 'each part makes progress')
        read += part
        from = next
      }
      assert.equal(read, whole)
    }),
  )
})

test('a part that starts within a surrogate pair starts after it', () => {
  assert.deepEqual(partOf('🌊!', 1, 10), { part: '!', next: null })
  assert.deepEqual(partOf('abc', 9, 10), { part: '', next: null })
})

test('items that do not fit are listed by id, and the list with these ids fits', () => {
  const items = fc.array(fc.record({ id: fc.uuid(), words: text }), { maxLength: 40 })
  fc.assert(
    fc.property(items, fc.integer({ min: 1000, max: 4000 }), (all, tokens) => {
      const { shown, left } = fitting(all, ({ id }) => id, tokens)
      assert.deepEqual(
        [...shown.map(({ id }) => id), ...left],
        all.map(({ id }) => id),
      )
      assert.ok(tokensIn(JSON.stringify(shown)) <= tokens + all.length)
      const next = all[shown.length]
      const withNext = tokensIn(JSON.stringify([...shown, next])) + left.length * 14
      assert.ok(next === undefined || withNext > tokens, 'no more would have fit')
    }),
  )
})

test('fields that do not fit are counted, and the others fit as JSON', () => {
  const value = fc.oneof(text, fc.integer(), fc.array(text, { maxLength: 12 }), fc.dictionary(text, fc.integer()))
  const sizeOf = (one: unknown) => (typeof one === 'object' && one !== null ? Object.keys(one).length : 1)
  fc.assert(
    fc.property(fc.dictionary(text, value, { maxKeys: 12 }), fc.integer({ min: 10, max: 2000 }), (fields, tokens) => {
      const { shown, left = {} } = fittingFields(fields, tokens)
      assert.ok(tokensIn(JSON.stringify(shown)) <= tokens + 1)
      for (const [name, one] of Object.entries(fields)) {
        const there = Object.hasOwn(shown, name) ? sizeOf(shown[name]) : 0
        assert.equal(there + (Object.hasOwn(left, name) ? left[name]! : 0), sizeOf(one), name)
      }
      assert.deepEqual(fittingFields(fields, 1e9).left, undefined, 'everything is shown if there is room')
    }),
  )
})

test('a clipped text does not end within a surrogate pair', () => {
  assert.equal(clipped('a🌊b', 2), 'a…')
  assert.equal(clipped('a🌊', 3), 'a🌊')
})
