import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyse } from './analyse.ts'
import { arbitraryLanguage, arbitraryText } from './arbitrary-text.ts'
import { charClassOf } from './char-class.ts'
import { equalLengths } from './equal-lengths.ts'

const words =
  'The U.S. who de été ÉTÉ Straße и ПРИЛИВ 潮汐 바다 İ.B. Istanbul ΣΑΣ 1,000.5 l’homme team’s ΟΔΟΣ Kå'.split(' ')
const texts = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((some) => some.join(' ')),
  arbitraryText,
)

test('a text that is another but for the case has one of its lengths, by the rules of any language', () => {
  let compared = 0
  fc.assert(
    fc.property(texts, arbitraryLanguage, fc.constantFrom('', ' ', '\n'), (text, language, blank) => {
      for (const other of [text, text.toUpperCase(), text.toLowerCase()]) {
        const lengths = equalLengths(text)
        if (other.toLowerCase() !== text.toLowerCase() || lengths === null) continue
        compared += 1
        const { length } = analyse(`${blank}${other}${blank}`, language)
        assert.ok(length >= lengths.least && length <= lengths.most, `${length} of ${lengths.least} to ${lengths.most}`)
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(compared > 2000)
})

test('words that are stop words somewhere may or may not count', () => {
  assert.deepEqual(equalLengths('tidal power plant'), { least: 3, most: 3 })
  assert.deepEqual(equalLengths('The Who'), { least: 0, most: 2 })
  assert.deepEqual(equalLengths('!!!'), { least: 0, most: 0 })
  assert.equal(equalLengths('İ.B.'), null)
})

test('only one letter is cut otherwise in its lower case', () => {
  const others: string[] = []
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const letter = String.fromCodePoint(code)
    const lower = letter.toLowerCase()
    const isSame = lower.length === letter.length && charClassOf(lower.codePointAt(0)!) === charClassOf(code)
    if (!isSame) others.push(letter)
  }
  assert.deepEqual(others, ['İ'])
})
