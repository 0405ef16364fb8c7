import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as random from '../../../test/contracts/random-changes.ts'
import type { AnalysedField } from '../../text/types.ts'
import { decodeField, encodedPrefixes, encodeField, encodeTerm, wordsOf } from './encode-terms.ts'

const anyTerm = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.constantFrom('', '%', '|', ' ', '_', '=', '\0', '\uD800', '%25;', '\u00a0', '\u001c'),
)
const anyField = fc.tuple(random.field, fc.array(anyTerm, { minLength: 12, maxLength: 12 })).map(([field, terms]) => ({
  ...field,
  terms: field.terms.map((term, i) => (i % 3 === 0 ? terms[i]! : term)),
}))

/** How often groups follow each other; for a single group, all its occurrences. */
function occurrences({ terms, positions }: AnalysedField, groups: readonly string[][]): number {
  if (groups.length === 1) return terms.filter((term) => groups[0]!.includes(term)).length
  const at = (group: readonly string[], position: number) =>
    terms.some((term, i) => positions[i] === position && group.includes(term))
  return [...new Set(positions)].filter((position) => groups.every((group, i) => at(group, position + i))).length
}

test('no term is taken for another, for a place or for a hole, and none is empty', () => {
  fc.assert(
    fc.property(anyTerm, anyTerm, (one, other) => {
      const [a, b] = [encodeTerm(one)!, encodeTerm(other)!]
      assert.equal(a === b, one === other)
      assert.match(a, /^[^\s|]+$/u)
      assert.notEqual(a, '%')
    }),
  )
  assert.equal(encodeTerm('w'.repeat(5000)), null)
})

test('a field has its terms as often, and side by side, as before', () => {
  fc.assert(
    fc.property(
      anyField,
      fc.array(fc.array(anyTerm, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
      (field, asked) => {
        const groups = asked.map((group, i) => [...group, ...field.terms.slice(i, i + 1)])
        const places = decodeField(encodeField(field))
        const decoded = {
          terms: places.flat(),
          positions: places.flatMap((terms, i) => terms.map(() => i)),
          length: places.length,
        }
        const encoded = groups.map((group) => group.map((term) => encodeTerm(term)!))
        assert.equal(occurrences(decoded, encoded), occurrences(field, groups))
      },
    ),
  )
})

test('terms begin as they did, a mark apart', () => {
  fc.assert(
    fc.property(anyTerm, fc.nat(4), fc.boolean(), (term, length, isMarked) => {
      const marked = isMarked ? `=${term}` : term
      const beginning = [...term].slice(0, length).join('')
      fc.pre(isMarked || !term.startsWith('='))
      const encoded = encodeTerm(marked)!
      assert.ok(encodedPrefixes(beginning).some((one) => encoded.startsWith(one)))
    }),
  )
  const begins = (term: string, beginning: string) =>
    encodedPrefixes(beginning).some((one) => encodeTerm(term)!.startsWith(one))
  assert.deepEqual(
    [begins('=restoration', '=rest'), begins('==rest', '=rest'), begins('rest', 'resto')],
    [false, true, false],
  )
})

test('words are the first terms of their places', () => {
  const field = { terms: ['=runs', 'run', 'fast', 'fast', 'run'], positions: [0, 0, 1, 4, 5], length: 6 }
  assert.equal(encodeField(field), '=runs|run fast % fast run')
  assert.deepEqual(wordsOf(field), ['runs', 'fast', 'run'])
})
