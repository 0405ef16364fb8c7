import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entitlementInWords } from './entitlement-words.ts'

test('an entitlement shows its time of day, in UTC, unless it is midnight', () => {
  const wordsFor = (published_from: string, published_to?: string): string =>
    entitlementInWords({ entitlement_id: 'e', datasets: ['news'], published_from, published_to: published_to ?? null })
  assert.match(wordsFor('2026-11-05T00:00:00Z'), /, published since 2026-11-05, with every field\.$/)
  assert.match(wordsFor('2026-11-05T13:30:00Z'), /, published since 2026-11-05 13:30 UTC, with/)
  assert.match(
    wordsFor('2026-11-05T01:00:00+01:00', '2026-11-05T13:30:07.250Z'),
    /, published from 2026-11-05 and before 2026-11-05 13:30:07\.250 UTC, with/,
  )
  assert.match(
    wordsFor('0001-01-01T00:00:00Z', '2016-12-31T23:59:60Z'),
    /from 0001-01-01 and before 2016-12-31T23:59:60Z, with/,
  )
})
