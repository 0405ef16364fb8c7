import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryText } from './arbitrary-text.ts'
import { scanRuns } from './scan-words.ts'

function runsOf(text: string): string[] {
  const runs: string[] = []
  scanRuns(text, (start, end) => runs.push(text.slice(start, end)))
  return runs
}

test('words end where search needs them to', () => {
  assert.deepEqual(runsOf('The well-known example.com'), ['The', 'well', 'known', 'example', 'com'])
  assert.deepEqual(runsOf("l'homme, the team's; don’t"), ['l', 'homme', 'the', "team's", 'don', 't'])
  assert.deepEqual(runsOf('1,000.50 and v1.2, 3.'), ['1,000.50', 'and', 'v1.2', '3'])
  assert.deepEqual(runsOf('U.S.A. and A. Smith, e.coli'), ['U.S.A', 'and', 'A', 'Smith', 'e', 'coli'])
  assert.deepEqual(runsOf('snake_case C++ 6½'), ['snake', 'case', 'C', '6'])
  assert.deepEqual(runsOf('п’ять людей'), ['п’ять', 'людей'])
})

test('scripts without blanks give whole runs, separate from adjacent words', () => {
  assert.deepEqual(runsOf('NFL联盟308分'), ['NFL', '联盟', '308', '分'])
  assert.deepEqual(runsOf('食べるガラスとABC'), ['食べるガラスと', 'ABC'])
  assert.deepEqual(runsOf('ภาษาไทย2024'), ['ภาษาไทย', '2024'])
})

test('runs are in order, do not overlap, and are never empty', () => {
  fc.assert(
    fc.property(arbitraryText, (text) => {
      let last = 0
      scanRuns(text, (start, end) => {
        assert.ok(start >= last && end > start && end <= text.length)
        last = end
      })
    }),
  )
})

test('the words are those of Intl.Segmenter, cut at punctuation', () => {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' })
  // A mark without a letter before it belongs to no word.
  const atPunctuation = (word: string): string[] =>
    word.split(/(?:(?:^|[^\p{L}\p{M}\p{N}])\p{M}*)+/u).filter((part) => part !== '')
  const character = fc.constantFrom(...'aZéñßяЁωΆعأ\u064bאհकि05٣ .,:;\'’"-_/()!?\n\t\u0301\u00a0—'.split(''))
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 60 }), (text) => {
      const expected = [...segmenter.segment(text)].flatMap(({ segment }) => atPunctuation(segment))
      assert.deepEqual(runsOf(text).flatMap(atPunctuation), expected)
    }),
    { numRuns: 2000 },
  )
})
