import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unitsOf } from './text-units.ts'

test('the units are those of the string, whatever its length and content, and whatever was read before', () => {
  const texts = [
    '',
    'a',
    'tide',
    'Ebbe und Flut, éßø',
    '潮汐🌊',
    'half of a pair \ud83c',
    'tide '.repeat(20_000),
    'ebb',
  ]
  for (const text of texts) {
    assert.deepEqual(
      [...unitsOf(text)],
      Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)),
    )
  }
})
