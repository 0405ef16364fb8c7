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

test('different terms have different encodings, which are neither empty nor a separator nor a gap', () => {
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

test('an encoded field has the same term frequencies and phrases', () => {
  fc.assert(
    fc.property(
      anyField,
      fc.array(fc.array(anyTerm, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
      (field, given) => {
        const groups = given.map((group, i) => [...group, ...field.terms.slice(i, i + 1)])
        const decodedTerms = decodeField(encodeField(field))
        const decoded = {
          terms: decodedTerms.flat(),
          positions: decodedTerms.flatMap((terms, i) => terms.map(() => i)),
          length: decodedTerms.length,
        }
        const encoded = groups.map((group) => group.map((term) => encodeTerm(term)!))
        assert.equal(occurrences(decoded, encoded), occurrences(field, groups))
      },
    ),
  )
})

test('encoded prefixes match the same terms, with and without a mark', () => {
  fc.assert(
    fc.property(anyTerm, fc.nat(4), fc.boolean(), (term, length, isMarked) => {
      const marked = isMarked ? `=${term}` : term
      const prefix = [...term].slice(0, length).join('')
      fc.pre(isMarked || !term.startsWith('='))
      const encoded = encodeTerm(marked)!
      assert.ok(encodedPrefixes(prefix).some((one) => encoded.startsWith(one)))
    }),
  )
  const startsWith = (term: string, prefix: string) =>
    encodedPrefixes(prefix).some((one) => encodeTerm(term)!.startsWith(one))
  assert.deepEqual(
    [startsWith('=restoration', '=rest'), startsWith('==rest', '=rest'), startsWith('rest', 'resto')],
    [false, true, false],
  )
})

test('words are the first terms of their positions', () => {
  const field = { terms: ['=runs', 'run', 'fast', 'fast', 'run'], positions: [0, 0, 1, 4, 5], length: 6 }
  assert.equal(encodeField(field), '=runs|run fast % fast run')
  assert.deepEqual(wordsOf(field), ['runs', 'fast', 'run'])
})
