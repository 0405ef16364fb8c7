import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { locateTerms } from './analyse.ts'
import { arbitraryLanguage, arbitraryText } from './arbitrary-text.ts'
import { findHits } from './find-hits.ts'
import { parseQuery } from './parse-query.ts'
import { RequestedTerms } from './requested-terms.ts'
import type { KeywordQuery, LocatedText } from './types.ts'

/** The terms of a query's words and phrases, located as the reranker locates them. */
function located(text: string, language: string | null, { clauses }: KeywordQuery): LocatedText {
  const positive = clauses.filter(({ kind }) => kind !== 'mustNot')
  const terms = positive.flatMap((clause) => (clause.type === 'word' ? clause.group : clause.groups.flat()))
  return { language, field: locateTerms(text, language, new RequestedTerms(terms)) }
}

test('hits are the same if the terms of the query were located before', () => {
  const queries = fc.oneof(
    fc.constantFrom('running dogs', '"running in" dogs', '猫 -dogs "été café"', 'U.S. häuser'),
    arbitraryText,
  )
  fc.assert(
    fc.property(arbitraryText, arbitraryLanguage, queries, (text, language, typed) => {
      const query = parseQuery(typed, null)
      assert.deepEqual(findHits(text, language, query, located(text, language, query)), findHits(text, language, query))
    }),
    { numRuns: 1000 },
  )
})

test('terms located by other rules, or for fewer terms, are not used', () => {
  const text = 'The dogs are running.'
  const query = parseQuery('running dog', ['en'])
  const nothing = locateTerms('', null, new RequestedTerms([]))
  assert.equal(findHits(text, 'en', query).length, 2)
  assert.equal(findHits(text, 'en', query, { language: 'de', field: nothing }).length, 2)
  assert.equal(findHits(text, null, query, { language: 'en', field: nothing }).length, 2)
  const prefixQuery = parseQuery('dogs runn', ['en'], { lastIsPrefix: true })
  assert.equal(findHits(text, 'en', prefixQuery, located(text, 'en', prefixQuery)).length, 2)
  assert.equal(findHits(text, 'en', query, { language: 'en', field: nothing }).length, 0)
  assert.equal(findHits(text, null, query, { language: null, field: nothing }).length, 0)
})
