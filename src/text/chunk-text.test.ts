import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryText } from './arbitrary-text.ts'
import { type ChunkOptions, chunkText } from './chunk-text.ts'
import { splitSentences } from './split-sentences.ts'
import { sizeInWords } from './text-size.ts'

function sentencesOf(text: string): string[] {
  return [...splitSentences(text)].map(({ start, end }) => text.slice(start, end))
}

const chunksOf = (body: string, options?: Partial<ChunkOptions>) => [...chunkText(body, options)]

test('sentences end at their marks and at blank lines', () => {
  assert.deepEqual(sentencesOf('Dr. Smith left. “Why?” It cost 3.5 dollars! \n\nA heading\n\nOne\nline'), [
    'Dr. Smith left.',
    '“Why?”',
    'It cost 3.5 dollars!',
    'A heading',
    'One\nline',
  ])
  assert.deepEqual(sentencesOf('这是一句。“两句！”好'), ['这是一句。', '“两句！”', '好'])
  assert.deepEqual(sentencesOf('The U.S. Army of J. R. Smith, e.g. this one.'), [
    'The U.S. Army of J. R. Smith, e.g. this one.',
  ])
})

test('a short body is one chunk, an empty one none', () => {
  assert.deepEqual(chunksOf('  One sentence. Another.  '), [{ start: 2, end: 24 }])
  assert.deepEqual(chunksOf(''), [])
  assert.deepEqual(chunksOf(' \n\t '), [])
})

test('chunks are whole sentences that overlap', () => {
  const body = Array.from({ length: 60 }, (_, index) => `Sentence number ${index} has exactly eight words here.`).join(
    ' ',
  )
  const chunks = chunksOf(body).map(({ start, end }) => body.slice(start, end))
  assert.ok(chunks.length > 1)
  for (const [index, chunk] of chunks.entries()) {
    assert.match(chunk, /^Sentence .* here\.$/u)
    const before = chunks[index - 1]
    if (before !== undefined) assert.ok(before.endsWith(sentencesOf(chunk).slice(0, 2).join(' ')))
  }
})

test('the last chunk is not a leftover', () => {
  const body = Array.from({ length: 28 }, () => 'Eight words of text are in this one.').join(' ')
  assert.equal(chunksOf(body).length, 1)
})

test('a sentence that is too long is cut between words', () => {
  const body = 'word '.repeat(1000).trim()
  for (const { start, end } of chunksOf(body)) assert.match(body.slice(start, end), /^(?:word )*word$/u)
})

test('a cut splits no character', () => {
  for (const character of ['👩‍👩‍👧', '𠀀', 'e\u0301', '机']) {
    const body = character.repeat(3000)
    for (const { start, end } of chunksOf(body)) {
      assert.equal(start % character.length, 0)
      assert.equal(end % character.length, 0)
    }
  }
})

test('no chunk is all overlap, even if a short sentence precedes a long one', () => {
  const [short, long] = ['A few words here.', `${'word '.repeat(250)}end.`]
  const body = `${'One sentence of six words more. '.repeat(36)}${short} ${long} ${'And so on and on. '.repeat(30)}`
  const chunks = chunksOf(body)
  for (const [i, { end }] of chunks.entries()) assert.ok(i === 0 || end > chunks[i - 1]!.end)
  const withLong = chunks.find(({ end }) => end > body.indexOf(long))!
  assert.ok(body.slice(withLong.start, withLong.end).includes(`${short} ${long}`), 'the long one has its overlap')
})

test('every character that is not blank lies in a chunk; chunks ascend, are bounded and the same each time', () => {
  const limits = { targetWords: 12, maxWords: 20, overlapWords: 6, maxLength: 120 }
  fc.assert(
    fc.property(arbitraryText, (body) => {
      const chunks = chunksOf(body, limits)
      let covered = 0
      for (const [index, { start, end }] of chunks.entries()) {
        const before = chunks[index - 1]
        assert.ok(before === undefined || (start > before.start && end > before.end))
        assert.ok(start < end && end - start <= limits.maxLength)
        assert.ok(sizeInWords(body, start, end) <= limits.maxWords + 1)
        assert.equal(body.slice(covered, start).trim(), '')
        covered = Math.max(covered, end)
      }
      assert.equal(body.slice(covered).trim(), '')
      assert.deepEqual(chunksOf(body, limits), chunks)
    }),
  )
})

test('hostile bodies take time in proportion to their length', () => {
  for (const unit of ['a', '!', '. ', '.")', '\n ', '\u0301', '\ud800', '机', 'A. ', ' ', '👩‍👩‍👧']) {
    const body = unit.repeat(Math.floor(300_000 / unit.length))
    const startedAt = performance.now()
    for (const { start, end } of chunksOf(body)) assert.ok(end - start <= 4000)
    assert.ok(performance.now() - startedAt < 60_000, JSON.stringify(unit))
  }
})
