import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../text/parse-query.ts'
import { isOneWordEnough, wordEvidence } from './word-evidence.ts'

const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}x`).join(' ')
const found = (query: string, parts: readonly number[] | undefined) =>
  wordEvidence(parseQuery(query, null), parts === undefined ? {} : { parts })
const first = (count: number) => Array.from({ length: count }, () => 1)

test('four words, or two fifths of the words, are full evidence', () => {
  for (const [count, matched, expected] of [
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
    assert.equal(found(words(count), first(matched)), expected, `${matched} of ${count}`)
  }
})

test('a phrase counts as all of its words, and excluded words do not count', () => {
  assert.equal(found('"word0x word1x" word2x word3x word4x word5x word6x', [1]), 2 / 7 / 0.4)
  assert.equal(found('word0x word1x -word2x -word3x -word4x', [1]), 1)
  assert.equal(found('-word0x', []), 0)
})

test('there is no evidence without a document, and full evidence if the parts are unknown', () => {
  assert.equal(wordEvidence(parseQuery(words(3), null), null), 0)
  assert.equal(found(words(30), undefined), 1)
})

test('with one or two words, any one of them is full evidence', () => {
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
