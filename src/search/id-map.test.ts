import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IdMap } from './id-map.ts'

test('returns the values that were added, and nothing else, even if ids end alike', () => {
  const id = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.tuple(fc.nat(20), fc.constantFrom('0000001', '0000002', 'é', '')).map(([n, end]) => `doc_${n}${end}`),
  )
  fc.assert(
    fc.property(fc.uniqueArray(id), fc.array(id), (known, others) => {
      const map = new IdMap<number>()
      for (const [i, one] of known.entries()) map.add(one, i)
      for (const one of [...known, ...others])
        assert.equal(map.get(one), known.includes(one) ? known.indexOf(one) : undefined)
    }),
  )
})
