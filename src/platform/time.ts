import { LRUCache } from 'lru-cache'

/** Times are whole milliseconds since 1970 inside the service and RFC 3339 in UTC outside of it. */

export const dayMs = 86_400_000

/** A fraction may have any number of digits, as long as the whole text is no longer than this. */
export const timeLengthMax = 1000

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/

/** Used because `Date.UTC` reads years below 100 as 19xx. */
const midnightOf = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day)

/** The years 0001 to 9999, in UTC. */
const timeMinMs = midnightOf(1, 1, 1)
export const timeMaxMs = midnightOf(10_000, 1, 1) - 1

interface Moment {
  readonly timeMs: number
  /** The digits beyond milliseconds, without trailing zeros. */
  readonly finer: string
}

function readMoment(text: string): Moment | null {
  const parts = text.length > timeLengthMax ? null : rfc3339.exec(text)
  if (parts === null) return null
  const [, year, month, day, hour, minute, second, fraction = '', zone] = parts as unknown as string[]
  const seconds = Number(second)
  if (Number(hour) > 23 || Number(minute) > 59 || seconds > 60) return null
  const midnight = midnightOf(Number(year), Number(month), Number(day))
  const check = new Date(midnight)
  // A day that does not exist, such as 31 April, has become a day of the next month.
  if (check.getUTCMonth() !== Number(month) - 1 || check.getUTCDate() !== Number(day)) return null
  let offsetMinutes = 0
  if (zone!.length > 1) {
    const zoneHours = Number(zone!.slice(1, 3))
    const zoneMinutes = Number(zone!.slice(4, 6))
    if (zoneHours > 23 || zoneMinutes > 59) return null
    offsetMinutes = (zone![0] === '-' ? -1 : 1) * (zoneHours * 60 + zoneMinutes)
  }
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  const timeMs =
    midnight + (Number(hour) * 60 + Number(minute) - offsetMinutes) * 60_000 + seconds * 1000 + milliseconds
  if (seconds === 60 && (timeMs - milliseconds) % dayMs !== 0) return null
  return timeMs >= timeMinMs && timeMs <= timeMaxMs ? { timeMs, finer: fraction.slice(3).replace(/0+$/, '') } : null
}

/**
 * Returns the milliseconds of an RFC 3339 text, or null if it is not valid. Digits beyond milliseconds are dropped. The
 * leap second 23:59:60 UTC is read as the next second.
 */
export const parseTime = (text: string): number | null => readMoment(text)?.timeMs ?? null

/**
 * Parses a bound of a half-open interval. A bound between two milliseconds is rounded up. That selects the same stored
 * times, which are whole milliseconds.
 */
export function parseBound(text: string): number | null {
  const moment = readMoment(text)
  return moment === null ? null : moment.timeMs + (moment.finer === '' ? 0 : 1)
}

export const parseOptionalTime = (text: string | undefined): number | null =>
  text === undefined ? null : parseTime(text)

export const parseOptionalBound = (text: string | undefined): number | null =>
  text === undefined ? null : parseBound(text)

/**
 * Whether an interval does not start before its end, compared to the last digit that was sent. Returns false if a bound
 * is absent or not a valid time.
 */
export function isWrongInterval(from: string | undefined, to: string | undefined): boolean {
  const [start, end] = [from, to].map((text) => (text === undefined ? null : readMoment(text)))
  if (start == null || end == null) return false
  return start.timeMs === end.timeMs ? start.finer >= end.finer : start.timeMs > end.timeMs
}

/**
 * Parses a text that was checked when it was stored. Throws for an invalid time, so that it is not mistaken for an
 * absent one.
 */
export const parseKnownTime = (text: string): number => known(text, parseTime)
export const parseKnownBound = (text: string): number => known(text, parseBound)

function known(text: string, parse: (text: string) => number | null): number {
  const timeMs = parse(text)
  if (timeMs === null) throw new Error(`${JSON.stringify(text)} is not an RFC 3339 time`)
  return timeMs
}

const digits = (number: number, length: number) => String(number).padStart(length, '0')

/**
 * The parts from which `formatTime` builds a text, which is much faster than `toISOString`. Times are a large part of a
 * page of the feed.
 */
const minutes = Array.from({ length: 1440 }, (_, i) => `${digits(Math.floor(i / 60), 2)}:${digits(i % 60, 2)}:`)
const seconds = Array.from({ length: 60 }, (_, i) => `${digits(i, 2)}.`)
const milliseconds = Array.from({ length: 1000 }, (_, i) => `${digits(i, 3)}Z`)
const days = new LRUCache<number, string>({ max: 4000 })

export function formatTime(timeMs: number): string {
  if (!(timeMs >= timeMinMs && timeMs <= timeMaxMs && Number.isInteger(timeMs))) return new Date(timeMs).toISOString()
  const number = Math.floor(timeMs / dayMs)
  let day = days.get(number)
  if (day === undefined) {
    day = new Date(number * dayMs).toISOString().slice(0, 11)
    days.set(number, day)
  }
  const rest = timeMs - number * dayMs
  const second = Math.floor(rest / 1000)
  // The order of the concatenations makes V8 build one flat string and not a rope.
  return day + minutes[Math.floor(second / 60)]! + (seconds[second % 60]! + milliseconds[rest % 1000]!)
}

export const formatOptionalTime = (timeMs: number | null): string | null =>
  timeMs === null ? null : formatTime(timeMs)

/** Returns the UTC calendar day in the form of usage counters: 2026-11-15. */
export const utcDay = (timeMs: number): string => formatTime(timeMs).slice(0, 10)

export const nextUtcDayAt = (timeMs: number): number => (Math.floor(timeMs / dayMs) + 1) * dayMs

export const secondsToNextUtcDay = (timeMs: number): number => Math.ceil((nextUtcDayAt(timeMs) - timeMs) / 1000)
