import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedLabel, others } from './bounded-label.ts'

const hourMs = 3_600_000

test('at most this many values have a name, and all others share one, whatever the values and their order', () => {
  const uses = fc.array(fc.record({ who: fc.nat(40), afterMs: fc.nat(hourMs) }), { maxLength: 300 })
  fc.assert(
    fc.property(uses, (steps) => {
      let now = 0
      const named = new Map<string, number>()
      const names = new BoundedLabel(
        (dropped) => {
          assert.ok(now - named.get(dropped)! >= hourMs, 'only a name that was unused for an hour')
          named.delete(dropped)
        },
        5,
        () => now,
      )
      for (const { who, afterMs } of steps) {
        now += afterMs
        const name = names.of(`app_${who}`)
        if (name !== others) named.set(name, now)
        assert.ok(named.size <= 5)
        assert.equal(name === others, !named.has(`app_${who}`))
      }
    }),
  )
})

test('a name is kept while it is used, and is replaced after an hour without use', () => {
  let now = 0
  const dropped: string[] = []
  const names = new BoundedLabel(
    (name) => dropped.push(name),
    2,
    () => now,
  )
  assert.deepEqual(
    ['a', 'b', 'c', 'a'].map((name) => names.of(name)),
    ['a', 'b', others, 'a'],
  )
  now += hourMs - 1
  assert.deepEqual(
    ['a', 'c'].map((name) => names.of(name)),
    ['a', others],
  )
  now += 1
  assert.deepEqual(
    ['c', 'b'].map((name) => names.of(name)),
    ['c', others],
  )
  assert.deepEqual(dropped, ['b'])
})
