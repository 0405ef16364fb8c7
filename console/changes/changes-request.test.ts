import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Beginning,
  beginnings,
  eventTypeNames,
  type Following,
  followingOf,
  parametersOf,
  queryOf,
} from './changes-request.ts'

/** A comma separates list values in an address. */
const names = fc.array(
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.includes(',')),
  { maxLength: 3 },
)
const ways: fc.Arbitrary<Following> = fc.record(
  {
    types: fc.subarray([...eventTypeNames]),
    datasets: names,
    platforms: names,
    from: fc.constantFrom(...(Object.keys(beginnings) as Beginning[])),
  },
  { noNullPrototype: true },
)

test('an address holds all filters of the feed: reading it returns what was written', () => {
  fc.assert(
    fc.property(ways, (following) => {
      const address = new URLSearchParams(parametersOf(following))
      assert.deepEqual(followingOf(new URLSearchParams(address.toString())), following)
    }),
  )
})

test('without a choice all types of events are requested, and reading starts at the chosen point', () => {
  const now = Date.parse('2026-11-16T12:34:56Z')
  const asked = (search: string) => queryOf(followingOf(new URLSearchParams(search)), now)
  assert.equal(asked('').event_type?.split(',').length, 5)
  assert.equal(asked('types=document.erased,nonsense').event_type, 'document.erased')
  assert.deepEqual([asked('').ingested_from, asked('').start], ['2026-11-16T11:34:00.000Z', ''])
  assert.deepEqual([asked('from=now').ingested_from, asked('from=now').start], ['', 'latest'])
  assert.deepEqual([asked('from=earliest').ingested_from, asked('from=earliest').start], ['', ''])
})
