import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EditDistance } from '../../../text/edit-distance.ts'
import { stepShift } from '../format/token-stream.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import { TermScan } from './scan-terms.ts'

const letters = (text: string) => Int32Array.from(text, (letter) => letter.codePointAt(0)!)

test('what is passed over by its letters or length is no term that was asked for', () => {
  const dictionary = new TermDictionary()
  const scans = (['simd', 'plain'] as const).map((kind) => new TermScan(dictionary, kind))
  const unit = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'ä', 'ж', '漢', '😀')
  const word = fc.string({ unit, minLength: 1, maxLength: 10 })
  const terms = fc.uniqueArray(
    fc.tuple(fc.constantFrom('', '='), word).map((parts) => parts.join('')),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(terms, word, fc.constantFrom(0, 1, 2, 3), fc.boolean(), (all, typed, editsMax, asBeginning) => {
      dictionary.clear()
      // Some are stems and no word of a text, some are both.
      const isWritten = (term: string) => term.startsWith('=') || all.indexOf(term) % 3 > 0
      const isStem = (term: string) => !term.startsWith('=') && all.indexOf(term) % 3 < 2
      for (const term of all) {
        const number = dictionary.add(term)
        const [first, second] = [(1 << stepShift) | number, number]
        dictionary.noteWords(Uint32Array.from([...(isWritten(term) ? [first] : []), ...(isStem(term) ? [second] : [])]))
      }
      const wordOf = (term: string) => term.replace('=', '')
      const distance = new EditDistance(letters(typed), editsMax)
      const expected = all.flatMap((term) => {
        const other = letters(wordOf(term))
        const edits = asBeginning ? distance.toBeginning(other, other.length) : distance.to(other, other.length)
        if (edits === 0 || edits > editsMax || !isWritten(term)) return []
        return [{ term: dictionary.find(term), edits, word: wordOf(term), isWordOnly: !isStem(term) }]
      })
      for (const scan of scans) assert.deepEqual(scan.similar(typed, editsMax, asBeginning), expected)
    }),
    { numRuns: 500 },
  )
})
