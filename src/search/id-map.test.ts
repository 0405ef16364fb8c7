import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IdMap } from './id-map.ts'

test('it has what was added, and nothing else, however alike ids end', () => {
  const id = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.tuple(fc.nat(20), fc.constantFrom('0000001', '0000002', 'é', '')).map(([n, end]) => `doc_${n}${end}`),
  )
  fc.assert(
    fc.property(fc.uniqueArray(id), fc.array(id), (known, asked) => {
      const map = new IdMap<number>()
      for (const [i, one] of known.entries()) map.add(one, i)
      for (const one of [...known, ...asked])
        assert.equal(map.get(one), known.includes(one) ? known.indexOf(one) : undefined)
    }),
  )
})
