import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legendOf } from './graph-colours.ts'

test('the most frequent values have colours of their own; further and missing values are grey', () => {
  const values = [...Array.from({ length: 20 }, (_, i) => `v${i}`), 'v7', null]
  const { entries, colours } = legendOf(values)
  assert.deepEqual([entries[0]!.value, entries[0]!.count], ['v7', 2])
  assert.equal(new Set(entries.map(({ colour }) => colour)).size, entries.length)
  const rest = entries.at(-1)!
  assert.equal(rest.value, null)
  assert.equal(
    entries.reduce((sum, { count }) => sum + count, 0),
    values.length,
  )
  assert.equal(colours.filter((colour) => colour === rest.colour).length, rest.count)
})
