import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EditDistance } from './edit-distance.ts'

/** By the definition: a table of all prefixes. */
function distanceTable(a: readonly string[], b: readonly string[]): number[][] {
  const table = a.concat('').map((_, i) => b.concat('').map((_, j) => (i === 0 ? j : i)))
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const least = [
        table[i - 1]![j]! + 1,
        table[i]![j - 1]! + 1,
        table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
      ]
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least.push(table[i - 2]![j - 2]! + 1)
      table[i]![j] = Math.min(...least)
    }
  }
  return table
}

const letters = (text: string) => Int32Array.from(text, (letter) => letter.codePointAt(0)!)

test('typing errors are letters inserted, removed, changed or transposed', () => {
  const distance = (typed: string, word: string) => new EditDistance(letters(typed), 2).to(letters(word), word.length)
  assert.equal(distance('ligthouse', 'lighthouse'), 1)
  assert.equal(distance('lihgthouse', 'lighthouse'), 1)
  assert.equal(distance('restoraton', 'restoration'), 1)
  assert.equal(distance('kestoration', 'restoration'), 1)
  assert.equal(distance('restoration', 'restoration'), 0)
  assert.equal(distance('storation', 'restoration'), 2)
  assert.equal(distance('toration', 'restoration'), 3)
})

test('distances are those of the whole table, within the limit, to words and to their prefixes', () => {
  const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'ä', '😀'), maxLength: 9 })
  const word = fc
    .tuple(fc.constantFrom('', 'cab', 'c'.repeat(26), 'ab'.repeat(16)), short)
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(word, fc.array(word), fc.constantFrom(1, 2), (typed, words, max) => {
      // One instance for all words, as in use: one word must not affect the next.
      const distance = new EditDistance(letters(typed), max)
      for (const other of words) {
        const table = distanceTable([...other], [...typed])
        const numbers = letters(other)
        const whole = table.at(-1)!.at(-1)!
        const nearest = Math.min(...table.map((row) => row.at(-1)!))
        assert.equal(Math.min(distance.to(numbers, numbers.length), max + 1), Math.min(whole, max + 1))
        assert.equal(Math.min(distance.toPrefix(numbers, numbers.length), max + 1), Math.min(nearest, max + 1))
      }
    }),
  )
})
