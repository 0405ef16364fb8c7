import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TermDictionary } from './term-dictionary.ts'

test('terms keep their numbers, in this thread, in another, and after packing', () => {
  const dictionary = new TermDictionary()
  const other = new TermDictionary(dictionary.buffers)
  const unpacked = new TermDictionary()
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 50 }), (terms) => {
      dictionary.clear()
      unpacked.clear()
      const numbers = new Map(terms.map((term) => [term, dictionary.add(term)]))
      assert.equal(new Set(numbers.values()).size, dictionary.size - 1)
      assert.ok(unpacked.unpack(dictionary.pack(1), dictionary.size - 1))
      for (const [term, number] of numbers) {
        assert.ok(number > 0)
        assert.equal(dictionary.add(term), number)
        assert.equal(other.find(term), number)
        assert.equal(unpacked.find(term), number)
      }
      assert.equal(other.find('a term that is not there'), 0)
    }),
    { numRuns: 50 },
  )
})

test('a truncated or too long pack is refused', () => {
  const dictionary = new TermDictionary()
  dictionary.add('one')
  dictionary.add('two')
  const packed = dictionary.pack(1)
  assert.equal(new TermDictionary().unpack(packed.subarray(0, packed.length - 1), 2), false)
  assert.equal(new TermDictionary().unpack(packed, 1), false)
  assert.equal(new TermDictionary().unpack(packed.subarray(0, 3), 2), false)
})
