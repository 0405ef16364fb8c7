import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldAccents, normaliseWord } from './fold-word.ts'
import { isStopWord, languagesWithStopWord, STOP_WORDS } from './stop-words.ts'

test('every stop word stands in its list as words of a text are normalised, and is known with and without its accents', () => {
  for (const [language, words] of STOP_WORDS) {
    for (const word of words) {
      assert.equal(normaliseWord(word), word, `${language}: ${word}`)
      assert.ok(languagesWithStopWord(word).includes(language), word)
      assert.ok(isStopWord(foldAccents(word), language), word)
    }
  }
})

test('a language without a list has no stop words, whatever its name', () => {
  for (const language of ['xx', 'constructor', '']) assert.equal(isStopWord('the', language), false)
  assert.deepEqual(languagesWithStopWord('constructor'), [])
})
