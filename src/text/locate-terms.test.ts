import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyseLocated, findTerms, locateTerms } from './analyse.ts'
import { arbitraryText } from './arbitrary-text.ts'
import { RequestedTerms } from './requested-terms.ts'
import type { LocatedField } from './types.ts'

const languages =
  `ar bg da de el en es fi fr ga hi hu hy id it lt ne nl no pt ro ru sr sv ta tr uk zh ja ko th pl xx`.split(' ')
const word = fc.stringMatching(/^(me|ber|di|ge|mb|bhf|dy|ly|ll|un)?[A-Za-zÀ-ž]{0,9}(ing|ly|es|en|mente|ba|'s)?$/)

const rowsOf = (field: LocatedField) =>
  field.terms.map((term, i) => [term, field.positions[i], field.starts[i], field.ends[i]] as const)

test('requested terms are located where a full analysis finds them, counted from the first, in every language', () => {
  const texts = fc.oneof(
    fc.array(word, { maxLength: 12 }).map((words) => words.join(' ')),
    arbitraryText,
  )
  fc.assert(
    fc.property(
      texts,
      fc.constantFrom(...languages, null),
      fc.array(fc.nat()),
      fc.nat(4),
      (text, language, picks, n) => {
        const field = analyseLocated(text, language)
        const some = picks.flatMap((pick) => field.terms[pick % field.terms.length] ?? [])
        const prefixes = n === 0 ? [] : some.splice(0, 1).map((term) => term.replace('=', '').slice(0, n) || 'w')
        const requested = new RequestedTerms([...some, 'walrus'], prefixes)
        const expected = rowsOf(field).filter(([term]) => requested.has(term))
        const first = expected[0]?.[1] ?? 0
        assert.deepEqual(
          rowsOf(locateTerms(text, language, requested)),
          expected.map(([term, position, start, end]) => [term, position! - first, start, end]),
        )
        const found: [string, number, number][] = []
        findTerms(text, language, requested, (term, start, end) => found.push([term, start, end]))
        assert.deepEqual(
          found,
          expected.map(([term, , start, end]) => [term, start, end]),
        )
      },
    ),
    { numRuns: 3000 },
  )
})
