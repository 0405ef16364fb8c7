import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayInWords, momentInWords } from './words-of-time.ts'

test('days are in UTC, moments in the reader’s time zone; an invalid time stays unchanged', () => {
  const time = '2026-11-01T23:59:59Z'
  const words = (options: Intl.DateTimeFormatOptions): string => new Date(time).toLocaleString(undefined, options)
  assert.equal(dayInWords(time), words({ dateStyle: 'medium', timeZone: 'UTC' }))
  assert.equal(momentInWords(time), words({ dateStyle: 'medium', timeStyle: 'short' }))
  assert.equal(momentInWords(time, { seconds: true }), words({ dateStyle: 'medium', timeStyle: 'medium' }))
  assert.equal(dayInWords('soon'), 'soon')
})
