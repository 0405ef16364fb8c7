import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayMs, formatTime, isWrongInterval, parseBound, parseTime, secondsToNextUtcDay, utcDay } from './time.ts'

const firstMs = Date.parse('0001-01-01T00:00:00Z')
const time = fc.integer({ min: firstMs, max: Date.UTC(10_000, 0, 1) - 1 })

test('a formatted time is parsed back to the millisecond', () => {
  fc.assert(fc.property(time, (at) => assert.equal(parseTime(formatTime(at)), at)))
})

test('any time is formatted as by toISOString', () => {
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
  const inside = fc.integer({ min: firstMs + 366 * dayMs, max: Date.UTC(9999, 0, 1) })
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
      fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 101 })),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (y, m, d) => {
        const two = (n: number) => String(n).padStart(2, '0')
        // The calendar repeats every 400 years.
        const real = y >= 1 && m >= 1 && m <= 12 && d >= 1 && d <= new Date(Date.UTC(y + 400, m, 0)).getUTCDate()
        const day = `${String(y).padStart(4, '0')}-${two(m)}-${two(d)}`
        assert.equal(parseTime(`${day}T00:00:00Z`) !== null, real, day)
      },
    ),
    { numRuns: 2000 },
  )
})

test('a text that is not an RFC 3339 time is refused', () => {
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
    `2026-11-15T08:30:00.${'0'.repeat(980)}Z`,
    '2026-11-15T08:30:00+24:00',
    '2026-11-15T08:30:00+0100',
    '2026-11-15T08:30:00+01',
    '26-11-15T08:30:00Z',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '9999-12-31T23:59:60Z',
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

test('a leap second is accepted where one can be, and nowhere else', () => {
  assert.equal(parseTime('2016-12-31T23:59:60Z'), Date.UTC(2017, 0, 1))
  assert.equal(parseTime('2017-01-01T00:59:60+01:00'), Date.UTC(2017, 0, 1))
  assert.equal(parseTime('2016-12-31T23:59:60.5Z'), Date.UTC(2017, 0, 1) + 500)
  assert.equal(parseTime('2016-12-31T08:30:60Z'), null)
  assert.equal(parseTime('2016-12-31T23:59:60+01:00'), null)
})

test('the years 0001 to 9999 are accepted, including the zero time of Go and .NET', () => {
  assert.equal(parseTime('0001-01-01T00:00:00Z'), firstMs)
  assert.equal(formatTime(firstMs), '0001-01-01T00:00:00.000Z')
  assert.equal(parseTime('0099-12-31T00:00:00Z'), Date.parse('0099-12-31T00:00:00Z'))
  assert.equal(parseTime('0001-01-01T01:00:00+01:00'), firstMs)
})

/** Fractions of a second from 0 to 1 with up to 42 digits, and their values in units of the last digit. */
const fraction = fc
  .tuple(
    fc.nat(999),
    fc.oneof(fc.constantFrom('', '0', '000', '0001', '9', '999', '50'), fc.stringMatching(/^\d{1,39}$/)),
  )
  .map(([milliseconds, finer]) => {
    const digits = `${String(milliseconds).padStart(3, '0')}${finer}`
    return { text: `2026-11-15T08:30:00.${digits}Z`, milliseconds, exact: BigInt(digits.padEnd(42, '0')) }
  })

test('a bound between two milliseconds separates them, however many digits it has', () => {
  const second = Date.UTC(2026, 10, 15, 8, 30)
  fc.assert(
    fc.property(fraction, fc.nat(1000), ({ text, exact }, milliseconds) => {
      const isBefore = BigInt(milliseconds) * 10n ** 39n < exact
      assert.equal(second + milliseconds < parseBound(text)!, isBefore, text)
    }),
  )
  assert.equal(parseBound('9999-12-31T23:59:59.9991Z'), Date.UTC(10_000, 0, 1))
})

test('an interval is wrong if its start is not before its end, to the last digit', () => {
  fc.assert(
    fc.property(fraction, fraction, (from, to) => {
      assert.equal(isWrongInterval(from.text, to.text), from.exact >= to.exact, `${from.text} ${to.text}`)
      assert.equal(isWrongInterval(from.text, from.text), true)
    }),
  )
  assert.equal(isWrongInterval('2026-11-15T08:30:00Z', '2026-11-15T10:30:00.000+02:00'), true)
  assert.equal(isWrongInterval(undefined, '2026-11-15T08:30:00Z'), false)
  assert.equal(isWrongInterval('2026-11-15T08:30:00Z', undefined), false)
})

test('fractions of a second are truncated to milliseconds, not rounded', () => {
  fc.assert(
    fc.property(fraction, ({ text, milliseconds }) =>
      assert.equal(parseTime(text), Date.UTC(2026, 10, 15, 8, 30) + milliseconds),
    ),
  )
  assert.equal(parseTime('2026-11-15T08:30:00.9999Z'), Date.UTC(2026, 10, 15, 8, 30) + 999)
  assert.equal(parseTime('2026-11-15t08:30:00.1z'), Date.UTC(2026, 10, 15, 8, 30) + 100)
})

test('the seconds to the next UTC day end in that day', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }), (at) => {
      const seconds = secondsToNextUtcDay(at)
      assert.ok(seconds >= 1 && seconds <= 86_400)
      assert.notEqual(utcDay(at + seconds * 1000), utcDay(at))
      if (seconds > 1) assert.equal(utcDay(at + (seconds - 1) * 1000), utcDay(at))
    }),
  )
})
