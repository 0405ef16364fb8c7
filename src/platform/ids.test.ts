import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstIdAt, idTimeMs, isId, newId } from './ids.ts'

const time = fc.integer({ min: 0, max: Date.UTC(3000, 0, 1) })

test('100,000 ids created in a row are all different and ascend', () => {
  let last = ''
  const seen = new Set<string>()
  for (let i = 0; i < 100_000; i++) {
    const id = newId('doc')
    assert.ok(id > last, `${id} after ${last}`)
    seen.add(id)
    last = id
  }
  assert.equal(seen.size, 100_000)
})

test('an id contains its creation time, to the millisecond', () => {
  fc.assert(fc.property(time, (at) => assert.equal(idTimeMs(newId('evt', at)), at)))
})

test('ids sort by time, and are not below the first id of their millisecond', () => {
  fc.assert(
    fc.property(time, time, (a, b) => {
      const [first, second] = [newId('ver', Math.min(a, b)), newId('ver', Math.max(a, b))]
      if (a !== b) assert.ok(first < second)
      assert.ok(first >= firstIdAt('ver', Math.min(a, b)))
      assert.ok(first < firstIdAt('ver', Math.min(a, b) + 1))
    }),
  )
})

test('an ID is distinguished from anything else', () => {
  assert.ok(isId('doc', newId('doc')))
  for (const wrong of [
    '',
    'doc_',
    newId('ver'),
    newId('doc').toUpperCase(),
    `${newId('doc')}0`,
    newId('doc').slice(0, -1),
  ]) {
    assert.ok(!isId('doc', wrong), wrong)
  }
  fc.assert(fc.property(fc.string(), (text) => !isId('doc', text)))
})
