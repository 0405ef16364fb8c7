import { dayMs } from '../platform/time.ts'
import { firstDayOf, type TimeBucket } from '../platform/time-buckets.ts'

/** The fields that results can be counted by. Times are counted by day, week or month, in UTC. */
export const facetFields = [
  'dataset',
  'platform',
  'language',
  'content_type',
  'region',
  'status',
  'topics',
  'tags',
  'classifications',
  'author',
] as const
export type FacetField = (typeof facetFields)[number]

export type Facet = FacetField | { readonly published_at: TimeBucket }

/** Fields whose values can be listed. */
export const valuesFields = [
  'dataset',
  'platform',
  'language',
  'content_type',
  'topics',
  'tags',
  'classifications',
] as const satisfies readonly FacetField[]
export type ValuesField = (typeof valuesFields)[number]

export interface ValueCount {
  readonly value: string
  readonly count: number
}

/** The day of a time, counted from 1970; NaN for a time outside the calendar. */
export const dayOf = (timeMs: number): number =>
  Math.abs(timeMs) < calendarMs ? Math.floor(timeMs / dayMs) : Number.NaN

/** One month before the last day that a `Date` can represent. */
const calendarMs = 8.64e15 - 31 * dayMs

/** The first day of the bucket that contains a day, as `2026-11-15`. */
export const bucketOfDay = (day: number, bucket: TimeBucket): string =>
  firstDayOf(day, bucket).toISOString().slice(0, -14)
