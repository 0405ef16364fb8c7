import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Permits, PermitsByCaller } from './permits.ts'

test('so many at once and no more; a permit given back twice is one permit', () => {
  const permits = new Permits(2)
  const first = permits.take()
  assert.ok(permits.take() !== null)
  assert.equal(permits.take(), null)
  first!()
  first!()
  assert.equal(permits.taken, 1)
  assert.ok(permits.take() !== null)
  assert.equal(permits.take(), null)
})

test('each caller has permits of its own, as many as it may have now', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({ caller: fc.constantFrom('a', 'b'), most: fc.integer({ min: 1, max: 3 }), back: fc.boolean() }),
      ),
      (steps) => {
        const permits = new PermitsByCaller()
        const held = { a: [] as (() => void)[], b: [] as (() => void)[] }
        for (const { caller, most, back } of steps) {
          if (back) {
            const permit = held[caller as 'a'].pop()
            permit?.()
            permit?.()
            continue
          }
          const taken = permits.take(caller, most)
          assert.equal(taken !== null, held[caller as 'a'].length < most)
          assert.equal(permits.taken, held.a.length + held.b.length + (taken === null ? 0 : 1))
          if (taken !== null) held[caller as 'a'].push(taken)
        }
      },
    ),
  )
})
