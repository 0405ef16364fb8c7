import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TermDictionary } from './term-dictionary.ts'
import { positionsWithPrefix, writeWordOrder } from './word-order.ts'

test('the places of a beginning are those of the terms that begin so, a mark apart', () => {
  const dictionary = new TermDictionary()
  const unit = fc.constantFrom('a', 'b', '\0', 'ä', 'ж', '漢', '😀', '=')
  const word = fc.string({ unit, minLength: 0, maxLength: 6 })
  const terms = fc.uniqueArray(
    fc.tuple(fc.constantFrom('', '='), word).map((parts) => parts.join('')),
    { maxLength: 80 },
  )
  fc.assert(
    fc.property(terms, word, (all, beginning) => {
      dictionary.clear()
      for (const term of all) dictionary.add(term)
      // A segment contains some of the terms.
      const held = all.filter((_, i) => i % 3 > 0)
      const numbers = Uint32Array.from(held, (term) => dictionary.find(term)).sort()
      const order = new Uint32Array(numbers.length)
      writeWordOrder(numbers, dictionary, order)
      assert.deepEqual(
        [...order].sort((a, b) => a - b),
        [...numbers.keys()],
      )
      const begun = positionsWithPrefix(numbers, order, dictionary, new TextEncoder().encode(beginning))
      assert.deepEqual(
        [...begun].map((place) => dictionary.textOf(numbers[place]!)).sort(),
        held.filter((term) => term.replace(/^=/, '').startsWith(beginning)).sort(),
      )
    }),
    { numRuns: 500 },
  )
})
