import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { normaliseWord } from './fold-word.ts'

/** Is taken out, and so is all that it does. */
const tatweel = 'ـ'

/** Letters of the scripts that have words told by blanks, and what stands between them. */
const letters = Array.from({ length: 0x700 }, (_, code) => String.fromCodePoint(code)).filter((letter) =>
  /[\p{L}\p{M}\p{N}]/u.test(letter),
)

test('a word that needs nothing but its case has the form that all the steps give it', () => {
  for (const letter of letters) assert.equal(normaliseWord(letter), normaliseWord(tatweel + letter), letter)
  const word = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
  fc.assert(fc.property(word, (any) => assert.equal(normaliseWord(any), normaliseWord(tatweel + any))))
})
