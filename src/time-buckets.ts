import { dayMs } from './time.ts'

/** By what times are counted, in UTC. */
export const timeBuckets = ['day', 'week', 'month'] as const
export type TimeBucket = (typeof timeBuckets)[number]

/** The first day of the bucket that a day (of those since 1970) is in; weeks begin on Mondays. */
export function firstDayOf(day: number, bucket: TimeBucket): Date {
  // The first of January 1970 was a Thursday.
  const first = bucket === 'week' ? day - ((((day + 3) % 7) + 7) % 7) : day
  const date = new Date(first * dayMs)
  if (bucket === 'month') date.setUTCDate(1)
  return date
}
