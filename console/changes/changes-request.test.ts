import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  eventTypeNames,
  type FeedFilters,
  type FeedStart,
  feedFiltersOf,
  feedStarts,
  parametersOf,
  queryOf,
} from './changes-request.ts'

/** Values have no comma, because a comma separates list values in an address. */
const names = fc.array(
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.includes(',')),
  { maxLength: 3 },
)
const anyFilters: fc.Arbitrary<FeedFilters> = fc.record(
  {
    types: fc.subarray([...eventTypeNames]),
    datasets: names,
    platforms: names,
    from: fc.constantFrom(...(Object.keys(feedStarts) as FeedStart[])),
  },
  { noNullPrototype: true },
)

test('an address holds all filters of the feed: reading it returns what was written', () => {
  fc.assert(
    fc.property(anyFilters, (filters) => {
      const address = new URLSearchParams(parametersOf(filters))
      assert.deepEqual(feedFiltersOf(new URLSearchParams(address.toString())), filters)
    }),
  )
})

test('without a choice all types of events are requested, and reading starts at the chosen point', () => {
  const now = Date.parse('2026-11-16T12:34:56Z')
  const queryFor = (search: string) => queryOf(feedFiltersOf(new URLSearchParams(search)), now)
  assert.equal(queryFor('').event_type?.split(',').length, 5)
  assert.equal(queryFor('types=document.erased,nonsense').event_type, 'document.erased')
  assert.deepEqual([queryFor('').ingested_from, queryFor('').start], ['2026-11-16T11:34:00.000Z', ''])
  assert.deepEqual([queryFor('from=now').ingested_from, queryFor('from=now').start], ['', 'latest'])
  assert.deepEqual([queryFor('from=earliest').ingested_from, queryFor('from=earliest').start], ['', ''])
})
