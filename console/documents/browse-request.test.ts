import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type BrowseFilters, browseFiltersOf, listFilterNames, parametersOf, queryOf } from './browse-request.ts'

/** Values have no comma, because a comma separates list values in an address. */
const value = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.includes(','))
const texts = fc.string({ maxLength: 10 })
const listings: fc.Arbitrary<BrowseFilters> = fc.record(
  {
    exactly: texts,
    dataset: texts,
    lists: fc
      .tuple(...listFilterNames.map(() => fc.array(value, { maxLength: 3 })))
      .map((lists) => Object.fromEntries(lists.map((list, i) => [listFilterNames[i], list])) as BrowseFilters['lists']),
    author: texts,
    scoreMin: texts,
    scoreMax: texts,
    from: fc.constantFrom('', '2026-11-01'),
    to: fc.constantFrom('', '2026-12-31'),
    status: fc.constantFrom('', 'active', 'unavailable'),
  },
  { noNullPrototype: true },
)

test('an address holds the whole listing: reading it returns what was written', () => {
  fc.assert(
    fc.property(listings, (filters) => {
      const address = new URLSearchParams(parametersOf(filters))
      assert.deepEqual(browseFiltersOf(new URLSearchParams(address.toString())), filters)
    }),
  )
})

test('both days of a period are included, and an invalid day is left to the server', () => {
  const queryFor = (search: string) => queryOf(browseFiltersOf(new URLSearchParams(search)))
  const { published_from: from, published_to: to } = queryFor('from=2026-11-01&to=2026-12-31')
  assert.deepEqual([from, to], ['2026-11-01T00:00:00Z', '2027-01-01T00:00:00Z'])
  assert.equal(queryFor('to=soon').published_to, 'soon')
  assert.equal(queryFor('classifications=a,b').classification_codes, 'a,b')
})
