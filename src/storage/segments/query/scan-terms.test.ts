import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../../../test/support/cases.ts'
import { EditDistance } from '../../../text/edit-distance.ts'
import { countBits } from '../format/count-bits.ts'
import { stepShift } from '../format/token-stream.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import { blockTerms, shapeOf } from '../memory/term-shapes.ts'
import { TermScan } from './scan-terms.ts'

const letters = (text: string) => Int32Array.from(text, (letter) => letter.codePointAt(0)!)

/**
 * The terms that `similar` finds, computed one by one: by the kinds of letters, and then letter by letter. `words`
 * caches the words that were read.
 */
function similarOneByOne(
  dictionary: TermDictionary,
  words: Map<number, Int32Array>,
  typed: string,
  edits: number,
  asPrefix: boolean,
): number[] {
  const { shapes } = dictionary
  const bytes = Buffer.from(typed)
  const shape = shapeOf(bytes, 0, bytes.length)
  const distance = new EditDistance(letters(typed), edits)
  const found: number[] = []
  for (let term = 1; term < dictionary.size; term++) {
    const [termLetters, termRepeated] = [shapes.letters[term]!, shapes.repeated[term]!]
    const longer = shapes.lengths[term]! - shape.length
    const missing = countBits(shape.letters & ~termLetters) + countBits(shape.repeated & ~termRepeated)
    if (missing > edits || longer < -edits || (!asPrefix && longer > edits)) continue
    const word = words.get(term) ?? letters(dictionary.textOf(term))
    words.set(term, word)
    const far = asPrefix ? distance.toPrefix(word, word.length) : distance.to(word, word.length)
    if (far > 0 && far <= edits) found.push(term)
  }
  return found
}

test('the scan finds exactly the terms within the edit distance', () => {
  const dictionary = new TermDictionary()
  const scan = new TermScan(dictionary)
  const unit = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'ä', 'ж', '漢', '😀')
  const word = fc.string({ unit, minLength: 1, maxLength: 10 })
  const terms = fc.uniqueArray(
    fc.tuple(fc.constantFrom('', '='), word).map((parts) => parts.join('')),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(terms, word, fc.constantFrom(0, 1, 2, 3), fc.boolean(), (all, typed, editsMax, asPrefix) => {
      dictionary.clear()
      // Some are stems and no word of a text, some are both.
      const isWritten = (term: string) => term.startsWith('=') || all.indexOf(term) % 3 > 0
      const isStem = (term: string) => !term.startsWith('=') && all.indexOf(term) % 3 < 2
      for (const term of all) {
        const number = dictionary.add(term)
        const [first, second] = [(1 << stepShift) | number, number]
        dictionary.recordRoles(
          Uint32Array.from([...(isWritten(term) ? [first] : []), ...(isStem(term) ? [second] : [])]),
        )
      }
      const wordOf = (term: string) => term.replace('=', '')
      const distance = new EditDistance(letters(typed), editsMax)
      const expected = all.flatMap((term) => {
        const other = letters(wordOf(term))
        const edits = asPrefix ? distance.toPrefix(other, other.length) : distance.to(other, other.length)
        if (edits === 0 || edits > editsMax || !isWritten(term)) return []
        return [{ term: dictionary.find(term), edits, word: wordOf(term), isWordOnly: !isStem(term) }]
      })
      assert.deepEqual(scan.similar(typed, editsMax, asPrefix), expected)
    }),
    { numRuns: casesOf(500, 100) },
  )
})

test('a scan of ordered blocks finds the same terms as a comparison one by one, except forgotten ones', () => {
  const dictionary = new TermDictionary()
  const scan = new TermScan(dictionary)
  // Letters of the kinds that blocks are ordered by, and others.
  const alphabet = [...'eaionrstludbcmpä漢']
  let state = 1
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const word = () =>
    Array.from({ length: 3 + random(random(8) === 0 ? 16 : 5) }, () => alphabet[random(alphabet.length)]).join('')
  while (dictionary.size < 2 * blockTerms + 5000) dictionary.add(word())
  dictionary.shapes.roles.fill(1, 1, dictionary.size)
  assert.equal(dictionary.blocks, 2)
  const typed = [
    ...Array.from({ length: 6 }, word),
    ...[70_000, blockTerms + 5000, 2 * blockTerms - 1, 2 * blockTerms + 1].map((term) => dictionary.textOf(term)),
  ]
  const words = new Map<number, Int32Array>()
  const compare = () => {
    const all = typed.flatMap((one) =>
      [1, 2].flatMap((edits) => [true, false].map((asPrefix) => [one, edits, asPrefix] as const)),
    )
    return all.flatMap((request) => {
      const found = scan.similar(...request).map(({ term }) => term)
      assert.deepEqual(found, similarOneByOne(dictionary, words, ...request))
      return found
    })
  }
  const found = new Set(compare())
  assert.ok(found.size > 1000, `${found.size} terms are similar`)
  const forgotten = [...found].slice(0, 500)
  dictionary.forget(forgotten)
  const foundStill = new Set(compare())
  assert.ok(foundStill.size > 500 && !forgotten.some((term) => foundStill.has(term)))
  for (const term of forgotten) {
    const { letters: left, repeated, heads, lengths, roles } = dictionary.shapes
    for (const column of [left, repeated, heads, lengths, roles]) assert.equal(column[term], 0)
  }
  const { order, orderedLetters, letters: termLetters } = dictionary.shapes
  const isCopied = (_: number, position: number) => orderedLetters[position] === termLetters[order[position]!]
  assert.ok(order.subarray(0, 2 * blockTerms).every(isCopied))
  dictionary.clear()
  assert.equal(dictionary.blocks, 0)
  assert.deepEqual(scan.similar(typed[0]!, 2, false), [])
})
