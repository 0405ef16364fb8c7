import { dayMs } from '../time.ts'
import { firstDayOf, type TimeBucket } from '../time-buckets.ts'

/** By what results can be counted. Times are counted by day, week or month, in UTC. */
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

/** Of a time that a calendar has; NaN else. */
export const dayOf = (timeMs: number): number =>
  Math.abs(timeMs) < calendarMs ? Math.floor(timeMs / dayMs) : Number.NaN

/** A month before the last day that a date can have. */
const calendarMs = 8.64e15 - 31 * dayMs

/** The first day of the bucket that a day is in, as `2026-11-15`. */
export const bucketOfDay = (day: number, bucket: TimeBucket): string =>
  firstDayOf(day, bucket).toISOString().slice(0, -14)
