import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Browsing, browsingOf, narrowings, parametersOf, queryOf } from './browse-request.ts'

/** A comma separates list values in an address. */
const value = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.includes(','))
const texts = fc.string({ maxLength: 10 })
const listings: fc.Arbitrary<Browsing> = fc.record(
  {
    exactly: texts,
    dataset: texts,
    lists: fc
      .tuple(...narrowings.map(() => fc.array(value, { maxLength: 3 })))
      .map((lists) => Object.fromEntries(lists.map((list, i) => [narrowings[i], list])) as Browsing['lists']),
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
    fc.property(listings, (browsing) => {
      const address = new URLSearchParams(parametersOf(browsing))
      assert.deepEqual(browsingOf(new URLSearchParams(address.toString())), browsing)
    }),
  )
})

test('both days of a period are included, and an invalid day is left to the server', () => {
  const asked = (search: string) => queryOf(browsingOf(new URLSearchParams(search)))
  const { published_from: from, published_to: to } = asked('from=2026-11-01&to=2026-12-31')
  assert.deepEqual([from, to], ['2026-11-01T00:00:00Z', '2027-01-01T00:00:00Z'])
  assert.equal(asked('to=soon').published_to, 'soon')
  assert.equal(asked('classifications=a,b').classification_codes, 'a,b')
})
