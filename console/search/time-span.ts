import type { ValueCount } from '../shared/value-counts.ts'
import { bucketsMax, type TimeUnit } from './search-request.ts'

export interface Bucket {
  /** Its first day. */
  readonly day: string
  readonly count: number
}

export interface TimeSpan {
  /** Consecutive buckets in order of time. Some may be empty. */
  readonly buckets: readonly Bucket[]
  /** The day after the last bucket; empty if a date cannot express it. */
  readonly end: string
  /** The numbers of documents outside, because one mistyped date would squeeze all others into one bar. */
  readonly before: number
  readonly after: number
}

/** More bars would be too narrow to click. */
const barsMax = 120

const numberOf = (day: string, unit: TimeUnit): number => {
  const time = new Date(`${day}T00:00:00Z`)
  return unit === 'day' ? time.getTime() / 86_400_000 : time.getUTCFullYear() * 12 + time.getUTCMonth()
}

const dayOf = (number: number, unit: TimeUnit): string => {
  const time = new Date(0)
  if (unit === 'day') time.setUTCDate(1 + number)
  else time.setUTCFullYear(Math.floor(number / 12), number - 12 * Math.floor(number / 12), 1)
  return time.toISOString().slice(0, -14)
}

/** Returns the first day of the next bucket; empty after the year 9999, the last one that a request can name. */
export function dayAfter(day: string, unit: TimeUnit): string {
  const next = dayOf(numberOf(day, unit) + 1, unit)
  return next.startsWith('+') ? '' : next
}

/** Returns all buckets or, if there are too many, the `barsMax` consecutive ones with the most documents. */
export function spanOf(counts: readonly ValueCount[], unit: TimeUnit): TimeSpan | null {
  const byNumber = new Map<number, number>()
  for (const { value, count } of counts) {
    // The count of a month is the sum over its days.
    const number = numberOf(value, unit)
    byNumber.set(number, (byNumber.get(number) ?? 0) + (count ?? 0))
  }
  const known = [...byNumber].map(([number, count]) => ({ number, count })).sort((a, b) => a.number - b.number)
  const sums = [0]
  for (const { count } of known) sums.push(sums.at(-1)! + count)
  let best = { first: 0, last: -1, count: -1 }
  for (let [first, last] = [0, -1]; first < known.length; first += 1) {
    while (last + 1 < known.length && known[last + 1]!.number - known[first]!.number < barsMax) last += 1
    const count = sums[last + 1]! - sums[first]!
    if (count > best.count) best = { first, last, count }
  }
  const [from, to] = [known[best.first], known[best.last]]
  if (from === undefined || to === undefined) return null
  return {
    buckets: Array.from({ length: to.number - from.number + 1 }, (_, i) => ({
      day: dayOf(from.number + i, unit),
      count: byNumber.get(from.number + i) ?? 0,
    })),
    end: dayAfter(dayOf(to.number, unit), unit),
    before: sums[best.first]!,
    after: sums.at(-1)! - sums[best.last + 1]!,
  }
}

/** Whether months show the result better: not all days are in the response, or more than a tenth would be outside. */
export function isScattered(days: readonly ValueCount[]): boolean {
  if (days.length >= bucketsMax) return true
  const span = spanOf(days, 'day')
  if (span === null) return false
  const outside = span.before + span.after
  return outside > 0.1 * span.buckets.reduce((sum, { count }) => sum + count, outside)
}
