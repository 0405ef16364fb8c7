import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressOf } from '../app/address-of.ts'
import {
  invalidTimesIn,
  modes,
  parametersOf,
  requestOf,
  type Search,
  searchFilterNames,
  searchOf,
  sorts,
} from './search-request.ts'

const value = fc.oneof(fc.string({ minLength: 1, maxLength: 8 }), fc.constantFrom('Ports, ferries', ',', 'a&b=c'))
const searches: fc.Arbitrary<Search> = fc.record(
  {
    query: fc.string({ maxLength: 12 }),
    mode: fc.constantFrom(...modes),
    lists: fc
      .tuple(...searchFilterNames.map(() => fc.array(value, { maxLength: 3 })))
      .map((lists) => Object.fromEntries(lists.map((list, i) => [searchFilterNames[i], list])) as Search['lists']),
    from: fc.constantFrom('', '2026-11-01T00:00:00Z'),
    to: fc.constantFrom('', '2026-12-01T00:00:00Z'),
    sort: fc.constantFrom(...sorts),
  },
  { noNullPrototype: true },
)

test('an address holds the whole search: reading it returns what was written', () => {
  fc.assert(
    fc.property(searches, (search) => {
      const address = new URL(addressOf('/search', parametersOf(search)), 'http://console')
      assert.deepEqual(searchOf(address.searchParams), search)
    }),
  )
})

test('an invalid time is left out of the search, and named', () => {
  const address = new URLSearchParams('q=tide&from=zzz&to=2026-11-01T00:00:00Z')
  const { from, to } = searchOf(address)
  assert.deepEqual([from, to, invalidTimesIn(address)], ['', '2026-11-01T00:00:00Z', ['zzz']])
})

test('other modes leave out the options of keyword search, and a facet without permission is not requested', () => {
  const search = searchOf(new URLSearchParams('q=tide&mode=hybrid&topics=a&datasets=news&sort=-score&from=2026-11-01'))
  const limited = [{ entitlement_id: 'e', datasets: ['news'], fields: ['title', 'body', 'metadata'] }]
  const hybrid = requestOf(search, { entitlements: limited, timeUnit: 'day' })
  assert.deepEqual(hybrid.facets, ['dataset', 'platform', 'language', { published_at: 'day' }])
  for (const name of ['topics', 'sort', 'prefix', 'typo']) assert.ok(!(name in hybrid), name)
  assert.deepEqual([hybrid.datasets, hybrid.published_from], [['news'], '2026-11-01'])
  const keyword = requestOf({ ...search, mode: 'keyword' }, { entitlements: limited, timeUnit: 'month' })
  assert.deepEqual(keyword.facets, ['dataset', 'platform', 'language', 'topics', 'tags', { published_at: 'month' }])
  assert.deepEqual([keyword.topics, keyword.sort, keyword.prefix, keyword.typo], [['a'], '-score', true, 'auto'])
})
