import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TermDictionary } from './term-dictionary.ts'
import { positionsWithPrefix, writeWordOrder } from './word-order.ts'

test('the positions of a prefix are those of the terms that start with it, ignoring the mark', () => {
  const dictionary = new TermDictionary()
  const unit = fc.constantFrom('a', 'b', '\0', 'ä', 'ж', '漢', '😀', '=')
  const word = fc.string({ unit, minLength: 0, maxLength: 6 })
  const terms = fc.uniqueArray(
    fc.tuple(fc.constantFrom('', '='), word).map((parts) => parts.join('')),
    { maxLength: 80 },
  )
  fc.assert(
    fc.property(terms, word, (all, prefix) => {
      dictionary.clear()
      for (const term of all) dictionary.add(term)
      // A segment contains some of the terms.
      const contained = all.filter((_, i) => i % 3 > 0)
      const numbers = Uint32Array.from(contained, (term) => dictionary.find(term)).sort()
      const order = new Uint32Array(numbers.length)
      writeWordOrder(numbers, dictionary, order)
      assert.deepEqual(
        [...order].sort((a, b) => a - b),
        [...numbers.keys()],
      )
      const found = positionsWithPrefix(numbers, order, dictionary, new TextEncoder().encode(prefix))
      assert.deepEqual(
        [...found].map((position) => dictionary.textOf(numbers[position]!)).sort(),
        contained.filter((term) => term.replace(/^=/, '').startsWith(prefix)).sort(),
      )
    }),
    { numRuns: 500 },
  )
})
