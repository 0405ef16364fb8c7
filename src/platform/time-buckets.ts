import { dayMs } from './time.ts'

/** The periods by which times are counted, in UTC. */
export const timeBuckets = ['day', 'week', 'month'] as const
export type TimeBucket = (typeof timeBuckets)[number]

/** Returns the first day of the bucket of a day (days since 1970). Weeks begin on Mondays. */
export function firstDayOf(day: number, bucket: TimeBucket): Date {
  // 1 January 1970 was a Thursday.
  const first = bucket === 'week' ? day - ((((day + 3) % 7) + 7) % 7) : day
  const date = new Date(first * dayMs)
  if (bucket === 'month') date.setUTCDate(1)
  return date
}
