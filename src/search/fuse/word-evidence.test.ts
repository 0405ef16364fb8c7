import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../text/parse-query.ts'
import { isOneWordEnough, wordEvidence } from './word-evidence.ts'

const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}x`).join(' ')
const found = (query: string, parts: readonly number[] | undefined) =>
  wordEvidence(parseQuery(query, null), parts === undefined ? {} : { parts })
const first = (count: number) => Array.from({ length: count }, () => 1)

test('four words, or two fifths of them, are all that can be asked for', () => {
  for (const [asked, matched, expected] of [
    [1, 1, 1],
    [2, 1, 1],
    [4, 1, 0.625],
    [10, 2, 0.5],
    [10, 4, 1],
    [50, 1, 0.25],
    [50, 3, 0.75],
    [50, 4, 1],
    [50, 50, 1],
  ] as const) {
    assert.equal(found(words(asked), first(matched)), expected, `${matched} of ${asked}`)
  }
})

test('a phrase is as many words as it has, and what is excluded is not asked for', () => {
  assert.equal(found('"word0x word1x" word2x word3x word4x word5x word6x', [1]), 2 / 7 / 0.4)
  assert.equal(found('word0x word1x -word2x -word3x -word4x', [1]), 1)
  assert.equal(found('-word0x', []), 0)
})

test('no document has a word: no evidence; unknown parts: nothing speaks against the words', () => {
  assert.equal(wordEvidence(parseQuery(words(3), null), null), 0)
  assert.equal(found(words(30), undefined), 1)
})

test('of one or two words any one found says as much as not knowing which', () => {
  for (const [query, ...matched] of [
    ['word0x', [1]],
    ['word0x word1x', [1], [0, 1], [1, 1]],
    ['+word0x word1x', [1], [1, 1]],
    ['"word0x word1x"', [1]],
    ['word0x -word1x -word2x', [1]],
  ] as const) {
    assert.ok(isOneWordEnough(parseQuery(query, null)), query)
    for (const parts of matched) assert.equal(found(query, parts), found(query, undefined), `${query}: ${parts}`)
  }
  for (const query of [words(3), '"word0x word1x" word2x', '-word0x']) {
    assert.ok(!isOneWordEnough(parseQuery(query, null)), query)
  }
})
