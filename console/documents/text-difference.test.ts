import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { differenceOf, isSame, type Piece } from './text-difference.ts'

const textOf = (pieces: readonly Piece[] | null): string | null => pieces?.map(({ text }) => text).join('') ?? null
const texts = fc
  .array(fc.constantFrom('tide', 'ferry', ' ', ' ', '\n', '.', '海', 'עברית', '🌊'), { maxLength: 30 })
  .map((parts) => parts.join(''))

test('each side shows its text unchanged, and equal texts have no marks', () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const rows = differenceOf(before, after)
      const side = (name: 'before' | 'after') => rows.flatMap((row) => textOf(row[name]) ?? []).join('\n')
      assert.deepEqual([side('before'), side('after')], [before, after])
      assert.equal(rows.every(isSame), before === after)
      for (const row of rows) {
        if (row.before === null || row.after === null) continue
        const kept = (pieces: readonly Piece[]) => pieces.filter(({ isChanged }) => !isChanged).map(({ text }) => text)
        if (isSame(row)) assert.equal(textOf(row.before), textOf(row.after))
        else assert.ok(kept(row.before).join('').length <= textOf(row.before)!.length)
      }
    }),
  )
})

test('changes are marked word by word, and adjacent words as one', () => {
  const [row] = differenceOf('Crews stopped work on Monday.', 'Crews began three days of strike on Monday.')
  assert.deepEqual(row, {
    before: [
      { text: 'Crews ', isChanged: false },
      { text: 'stopped work', isChanged: true },
      { text: ' on Monday.', isChanged: false },
    ],
    after: [
      { text: 'Crews ', isChanged: false },
      { text: 'began three days of strike ', isChanged: true },
      { text: 'on Monday.', isChanged: false },
    ],
  })
  const paragraphs = differenceOf('one\ntwo\nthree', 'one\nthree\nfour')
  assert.deepEqual(
    paragraphs.map(({ before, after }) => [textOf(before), textOf(after)]),
    [
      ['one', 'one'],
      ['two', null],
      ['three', 'three'],
      [null, 'four'],
    ],
  )
  const [chinese] = differenceOf('渡轮停运', '渡轮复航', 'zh')
  assert.equal(chinese!.after!.find(({ isChanged }) => isChanged)?.text.includes('渡轮'), false)
  assert.equal(differenceOf('a', 'b', 'not a language').length, 1)
})
