import type { Counted } from '../shared/counted.ts'
import { bucketsMax, type TimeUnit } from './search-request.ts'

export interface Bucket {
  /** The day on which it begins. */
  readonly day: string
  readonly count: number
}

export interface TimeSpan {
  /** In the order of time, those without anything between them too. */
  readonly buckets: readonly Bucket[]
  /** The day after the last of them; empty where that is none that a date can say. */
  readonly end: string
  /** What is outside: a date that somebody mistyped would squeeze all others into one bar. */
  readonly before: number
  readonly after: number
}

/** More would be too thin to be pointed at. */
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

/** Where the next one begins; empty after the year 9999, the last one that can be asked for. */
export function dayAfter(day: string, unit: TimeUnit): string {
  const next = dayOf(numberOf(day, unit) + 1, unit)
  return next.startsWith('+') ? '' : next
}

/** All buckets, or where they do not fit those of the time that has most. */
export function spanOf(counts: readonly Counted[], unit: TimeUnit): TimeSpan | null {
  const byNumber = new Map<number, number>()
  for (const { value, count } of counts) {
    // Days that are not yet told by month are added up.
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

/** Whether days do not show it: there are as many as can be told, which are not all of them, or many do not fit beside the others. */
export function isScattered(days: readonly Counted[]): boolean {
  if (days.length >= bucketsMax) return true
  const span = spanOf(days, 'day')
  if (span === null) return false
  const outside = span.before + span.after
  return outside > 0.1 * span.buckets.reduce((sum, { count }) => sum + count, outside)
}
