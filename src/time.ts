/** Times are whole milliseconds since 1970 inside the service and RFC 3339 in UTC outside of it. */

export const dayMs = 86_400_000

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/

/** What is taken: from the year 1000 to the end of the year 9999. */
const timeMinMs = Date.UTC(1000, 0, 1)
const timeMaxMs = Date.UTC(10_000, 0, 1) - 1

/** Milliseconds of an RFC 3339 text, or null where it is none. Fractions are cut to milliseconds; the leap second 23:59:60 UTC is taken as the next second. */
export function parseTime(text: string): number | null {
  const parts = rfc3339.exec(text)
  if (parts === null) return null
  const [, year, month, day, hour, minute, second, fraction = '', zone] = parts as unknown as string[]
  const seconds = Number(second)
  if (Number(hour) > 23 || Number(minute) > 59 || seconds > 60) return null
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const check = new Date(midnight)
  // Date.UTC reads years below 100 as 19xx and rolls 31 April over: both are refused.
  if (
    check.getUTCFullYear() !== Number(year) ||
    check.getUTCMonth() !== Number(month) - 1 ||
    check.getUTCDate() !== Number(day)
  )
    return null
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
  return timeMs >= timeMinMs && timeMs <= timeMaxMs ? timeMs : null
}

/** Of a parameter that may be left out. */
export const parseOptionalTime = (text: string | undefined): number | null =>
  text === undefined ? null : parseTime(text)

/** Of a text that was checked when it was written down: one that is no time must not be taken for none. */
export function parseKnownTime(text: string): number {
  const timeMs = parseTime(text)
  if (timeMs === null) throw new Error(`${JSON.stringify(text)} is no RFC 3339 time`)
  return timeMs
}

const digits = (number: number, length: number) => String(number).padStart(length, '0')

/** Ready pieces: what a time costs is the putting together. */
const minutes = Array.from({ length: 1440 }, (_, i) => `${digits(Math.floor(i / 60), 2)}:${digits(i % 60, 2)}:`)
const seconds = Array.from({ length: 60 }, (_, i) => `${digits(i, 2)}.`)
const milliseconds = Array.from({ length: 1000 }, (_, i) => `${digits(i, 3)}Z`)

/** The days that times lie in are few, and the general way to write one is the dearest part of a page of the feed. */
const days = new Map<number, string>()
const daysMax = 4000

export function formatTime(timeMs: number): string {
  if (!(timeMs >= timeMinMs && timeMs <= timeMaxMs && Number.isInteger(timeMs))) return new Date(timeMs).toISOString()
  const number = Math.floor(timeMs / dayMs)
  let day = days.get(number)
  if (day === undefined) {
    day = new Date(number * dayMs).toISOString().slice(0, 11)
    if (days.size >= daysMax) days.clear()
    days.set(number, day)
  }
  const rest = timeMs - number * dayMs
  const second = Math.floor(rest / 1000)
  // What is short is put together first: one piece of memory, not a chain of them.
  return day + minutes[Math.floor(second / 60)]! + (seconds[second % 60]! + milliseconds[rest % 1000]!)
}

export const formatOptionalTime = (timeMs: number | null): string | null =>
  timeMs === null ? null : formatTime(timeMs)

/** The UTC calendar day, as it stands in usage counters: 2026-11-15. */
export function utcDay(timeMs: number): string {
  // Asked several times for every request, and the answer is new once a day.
  const day = Math.floor(timeMs / dayMs)
  if (day !== lastDay) {
    lastDay = day
    lastDayText = new Date(timeMs).toISOString().slice(0, 10)
  }
  return lastDayText
}

let lastDay = Number.NaN
let lastDayText = ''

export const nextUtcDayAt = (timeMs: number): number => (Math.floor(timeMs / dayMs) + 1) * dayMs

export const secondsToNextUtcDay = (timeMs: number): number => Math.ceil((nextUtcDayAt(timeMs) - timeMs) / 1000)
