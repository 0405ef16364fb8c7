import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entitlementInWords } from './entitlement-words.ts'

test('a time of day is told where an entitlement has one, in UTC', () => {
  const told = (published_from: string, published_to?: string): string =>
    entitlementInWords({ entitlement_id: 'e', datasets: ['news'], published_from, published_to: published_to ?? null })
  assert.match(told('2026-11-05T00:00:00Z'), /, published since 2026-11-05, with every field\.$/)
  assert.match(told('2026-11-05T13:30:00Z'), /, published since 2026-11-05 13:30 UTC, with/)
  assert.match(
    told('2026-11-05T01:00:00+01:00', '2026-11-05T13:30:07.250Z'),
    /, published from 2026-11-05 until before 2026-11-05 13:30:07\.250 UTC, with/,
  )
})
