import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FewNames, others } from './few-names.ts'

const hourMs = 3_600_000

test('so many have a name, and all others are one, whatever they are called and in whatever order they come', () => {
  const spoken = fc.array(fc.record({ who: fc.nat(40), afterMs: fc.nat(hourMs) }), { maxLength: 300 })
  fc.assert(
    fc.property(spoken, (turns) => {
      let now = 0
      const named = new Map<string, number>()
      const names = new FewNames(
        (left) => {
          assert.ok(now - named.get(left)! >= hourMs, 'only who was not spoken of for an hour')
          named.delete(left)
        },
        5,
        () => now,
      )
      for (const { who, afterMs } of turns) {
        now += afterMs
        const name = names.of(`app_${who}`)
        if (name !== others) named.set(name, now)
        assert.ok(named.size <= 5)
        assert.equal(name === others, !named.has(`app_${who}`))
      }
    }),
  )
})

test('a name is kept while its bearer is spoken of, and goes to another an hour later', () => {
  let now = 0
  const left: string[] = []
  const names = new FewNames(
    (name) => left.push(name),
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
  assert.deepEqual(left, ['b'])
})
