import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayInWords, momentInWords } from './words-of-time.ts'

test('days are of UTC, moments of the reader; what is no time is said as it stands', () => {
  const time = '2026-11-01T23:59:59Z'
  const words = (options: Intl.DateTimeFormatOptions): string => new Date(time).toLocaleString(undefined, options)
  assert.equal(dayInWords(time), words({ dateStyle: 'medium', timeZone: 'UTC' }))
  assert.equal(momentInWords(time), words({ dateStyle: 'medium', timeStyle: 'short' }))
  assert.equal(momentInWords(time, { seconds: true }), words({ dateStyle: 'medium', timeStyle: 'medium' }))
  assert.equal(dayInWords('soon'), 'soon')
})
