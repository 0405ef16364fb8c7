import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryText } from './arbitrary-text.ts'
import { foldAccents, normaliseWord } from './fold-word.ts'
import { scanRuns } from './scan-words.ts'
import {
  isStopWord,
  languagesWithStopWord,
  languagesWithStopWordAt,
  STOP_WORD_LANGUAGES,
  STOP_WORDS,
} from './stop-words.ts'

test('every stop word is listed in its normalised form, and is known with and without its accents', () => {
  for (const [language, words] of STOP_WORDS) {
    for (const word of words) {
      assert.equal(normaliseWord(word), word, `${language}: ${word}`)
      assert.ok(languagesWithStopWord(word).includes(STOP_WORD_LANGUAGES.indexOf(language)), word)
      assert.ok(isStopWord(foldAccents(word), language), word)
    }
  }
})

test('a language without a list has no stop words, whatever its name', () => {
  for (const language of ['xx', 'constructor', '']) assert.equal(isStopWord('the', language), false)
  assert.deepEqual(languagesWithStopWord('constructor'), [])
})

test('a word in a text is recognised as if it were cut out, in either case and in any context', () => {
  const stopWords = fc.constantFrom(...[...STOP_WORDS.values()].flat())
  const inSomeCase = fc.tuple(stopWords, fc.boolean()).map(([word, isUpper]) => (isUpper ? word.toUpperCase() : word))
  const likeStopWords = fc.tuple(inSomeCase, fc.constantFrom('', 's', '1', 'é', '.')).map((parts) => parts.join(''))
  const texts = fc.oneof(
    fc.array(likeStopWords, { maxLength: 12 }).map((words) => words.join(' ')),
    arbitraryText,
  )
  let known = 0
  fc.assert(
    fc.property(texts, (text) => {
      scanRuns(text, (start, end) => {
        const languages = languagesWithStopWord(normaliseWord(text.slice(start, end)))
        assert.deepEqual(languagesWithStopWordAt(text, start, end), languages, text.slice(start, end))
        known += languages.length > 0 ? 1 : 0
      })
    }),
    { numRuns: 500 },
  )
  assert.ok(known > 100, `${known} were stop words`)
})
