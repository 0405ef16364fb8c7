import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldAccents, normaliseWord, writtenForm } from './fold-word.ts'

/** A letter-lengthening mark, which is removed from words. */
const tatweel = 'ـ'

/** Letters of the scripts that separate words by blanks, and the characters between them. */
const letters = Array.from({ length: 0x700 }, (_, code) => String.fromCodePoint(code)).filter((letter) =>
  /[\p{L}\p{M}\p{N}]/u.test(letter),
)

test('the fast path for words that only need lower case gives the same form as all steps', () => {
  for (const letter of letters) assert.equal(normaliseWord(letter), normaliseWord(tatweel + letter), letter)
  const word = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
  fc.assert(fc.property(word, (any) => assert.equal(normaliseWord(any), normaliseWord(tatweel + any))))
})

const sameForms = (...forms: readonly string[]) =>
  assert.equal(new Set(forms.map((form) => foldAccents(normaliseWord(form)))).size, 1, forms.join(' '))

test('a number is the same with and without marks between its thousands', () => {
  sameForms('1299.99', '1,299.99', '1.299,99')
  sameForms('1234567.5', '1,234,567.5', '1.234.567,5')
  sameForms('1299', '1,299', '1.299')
  assert.equal(normaliseWord('1.2,3'), '1.2,3')
  assert.equal(normaliseWord('2,5'), '2,5')
})

test('Devanagari: nasals written out or as a dot, and letters with and without their dot, are the same', () => {
  sameForms('हिन्दी', 'हिंदी')
  sameForms('सम्बन्ध', 'संबंध')
  sameForms('पण्डित', 'पंडित')
  sameForms('ज़मीन', 'जमीन')
  sameForms('चाँद', 'चांद')
  assert.notEqual(foldAccents(normaliseWord('मन')), foldAccents(normaliseWord('मं')))
})

test('the written form of a word is that of the first text that has it', () => {
  assert.equal(writtenForm('hauser', ['Die Strasse', 'Häuser, „HÄUSER“']), 'häuser')
  assert.equal(writtenForm('strasse', ['Die Straße', 'Strasse']), 'straße')
  assert.equal(writtenForm('lighthouse', ['The Lighthouse – at sea']), 'lighthouse')
  assert.equal(writtenForm('cafe', []), 'cafe')
  assert.equal(writtenForm('istanbul', ['Bugün İstanbul']), 'İstanbul')
})
