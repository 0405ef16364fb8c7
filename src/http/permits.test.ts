import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Permits, PermitsByCaller } from './permits.ts'

test('the limit is never exceeded; a permit that is released twice counts once', () => {
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

test('each caller has its own permits, up to the limit of the call', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({ caller: fc.constantFrom('a', 'b'), most: fc.integer({ min: 1, max: 3 }), releases: fc.boolean() }),
      ),
      (steps) => {
        const permits = new PermitsByCaller()
        const held = { a: [] as (() => void)[], b: [] as (() => void)[] }
        for (const { caller, most, releases } of steps) {
          if (releases) {
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
