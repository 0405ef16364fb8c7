import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatTime, parseTime, secondsToNextUtcDay, utcDay } from './time.ts'

const time = fc.integer({ min: Date.UTC(1000, 0, 1), max: Date.UTC(10_000, 0, 1) - 1 })

test('what is written is read back to the millisecond', () => {
  fc.assert(fc.property(time, (at) => assert.equal(parseTime(formatTime(at)), at)))
})

test('a time is written as everywhere else, whatever it is', () => {
  const any = fc.oneof(
    time,
    fc.integer(),
    fc.double({ min: -8e15, max: 8e15, noNaN: true }),
    fc.integer({ min: -8e15, max: 8e15 }),
  )
  fc.assert(fc.property(any, (at) => assert.equal(formatTime(at), new Date(at).toISOString())))
  assert.throws(() => formatTime(Number.NaN), RangeError)
})

test('an offset names the same moment', () => {
  const inside = fc.integer({ min: Date.UTC(1001, 0, 1), max: Date.UTC(9999, 0, 1) })
  fc.assert(
    fc.property(inside, fc.integer({ min: -1439, max: 1439 }), (at, minutes) => {
      const local = new Date(at + minutes * 60_000).toISOString().slice(0, -1)
      const zone = Math.abs(minutes)
      const two = (n: number) => String(n).padStart(2, '0')
      const text = `${local}${minutes < 0 ? '-' : '+'}${two(Math.floor(zone / 60))}:${two(zone % 60)}`
      assert.equal(parseTime(text), at, text)
    }),
  )
})

test('days that are not in the calendar are refused, in leap years and others', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1000, max: 9999 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (y, m, d) => {
        const two = (n: number) => String(n).padStart(2, '0')
        const real = m >= 1 && m <= 12 && d >= 1 && d <= new Date(Date.UTC(y, m, 0)).getUTCDate()
        assert.equal(parseTime(`${y}-${two(m)}-${two(d)}T00:00:00Z`) !== null, real, `${y}-${m}-${d}`)
      },
    ),
    { numRuns: 2000 },
  )
})

test('what is no RFC 3339 time is refused', () => {
  for (const text of [
    '',
    '2026-04-31T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-11-15',
    '2026-11-15T08:30:00',
    '2026-11-15 08:30:00Z',
    '2026-11-15T24:00:00Z',
    '2026-11-15T08:60:00Z',
    '2026-11-15T08:30:61Z',
    '2026-11-15T08:30:00.Z',
    '2026-11-15T08:30:00.1234567890Z',
    '2026-11-15T08:30:00+24:00',
    '2026-11-15T08:30:00+0100',
    '2026-11-15T08:30:00+01',
    '26-11-15T08:30:00Z',
    '0099-01-01T00:00:00Z',
    '12026-11-15T08:30:00Z',
    '2026-11-15T08:30:00Z\n',
    ' 2026-11-15T08:30:00Z',
    '1794740504553',
    '\u0662026-11-15T08:30:00Z',
  ]) {
    assert.equal(parseTime(text), null, JSON.stringify(text))
  }
  fc.assert(fc.property(fc.string(), (text) => parseTime(text) === null))
})

test('a leap second is taken where one can be, and nowhere else', () => {
  assert.equal(parseTime('2016-12-31T23:59:60Z'), Date.UTC(2017, 0, 1))
  assert.equal(parseTime('2017-01-01T00:59:60+01:00'), Date.UTC(2017, 0, 1))
  assert.equal(parseTime('2016-12-31T23:59:60.5Z'), Date.UTC(2017, 0, 1) + 500)
  assert.equal(parseTime('2016-12-31T08:30:60Z'), null)
  assert.equal(parseTime('2016-12-31T23:59:60+01:00'), null)
})

test('fractions are cut to milliseconds, not rounded', () => {
  assert.equal(parseTime('2026-11-15T08:30:00.9999Z'), Date.UTC(2026, 10, 15, 8, 30) + 999)
  assert.equal(parseTime('2026-11-15t08:30:00.1z'), Date.UTC(2026, 10, 15, 8, 30) + 100)
})

test('the seconds to the next UTC day lead into it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }), (at) => {
      const seconds = secondsToNextUtcDay(at)
      assert.ok(seconds >= 1 && seconds <= 86_400)
      assert.notEqual(utcDay(at + seconds * 1000), utcDay(at))
      if (seconds > 1) assert.equal(utcDay(at + (seconds - 1) * 1000), utcDay(at))
    }),
  )
})
