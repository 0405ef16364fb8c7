import type { FacetName } from '../document/field-types.ts'
import { dayMs } from '../platform/time.ts'
import { firstDayOf, type TimeBucket } from '../platform/time-buckets.ts'

/** A field that results can be counted by. Times are counted by day, week or month, in UTC. */
export type Facet = FacetName | { readonly published_at: TimeBucket }

export interface ValueCount {
  readonly value: string
  readonly count: number
}

/** The day of a time, counted from 1970; NaN if the time or its buckets are outside the range of a `Date`. */
export const dayOf = (timeMs: number): number =>
  Math.abs(timeMs) < calendarMs ? Math.floor(timeMs / dayMs) : Number.NaN

/** One month less than the largest time of a `Date`, because a bucket may start up to a month before the day. */
const calendarMs = 8.64e15 - 31 * dayMs

/** The first day of the bucket that contains a day, as `2026-11-15`. */
export const bucketOfDay = (day: number, bucket: TimeBucket): string =>
  firstDayOf(day, bucket).toISOString().slice(0, -14)
