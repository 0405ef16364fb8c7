import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WordTable } from './word-table.ts'

test('a word is found wherever it stands in a text, and nothing else for it', () => {
  const word = fc.string({ minLength: 1, maxLength: 6, unit: 'binary' })
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 400 }), word, (words, before) => {
      const table = new WordTable<string>(1000)
      const found = (one: string) => table.get(`${before}${one}x`, before.length, before.length + one.length)
      for (const one of words) {
        assert.equal(found(one), undefined)
        table.set(one, one)
        assert.equal(found(one), one)
      }
      for (const one of words) assert.ok([one, undefined].includes(found(one)))
      assert.ok(words.filter((one) => found(one) === undefined).length <= words.length / 100, 'few are forgotten')
    }),
  )
})

test('words in use stay, and of the others only some are remembered', () => {
  const table = new WordTable<number>(100)
  table.set('used', 0)
  for (let i = 1; i <= 1000; i++) {
    table.set(`w${i}`, i)
    assert.equal(table.get('it is used', 6, 10), 0)
  }
  const kept = Array.from({ length: 1000 }, (_, i) => `w${i + 1}`).filter((one) => table.get(one, 0, one.length))
  assert.ok(kept.length >= 99 && kept.length <= 200, `${kept.length} are kept`)
})
