import { dayMs } from '../time.ts'

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

export const timeBuckets = ['day', 'week', 'month'] as const
export type TimeBucket = (typeof timeBuckets)[number]

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

/** The first day of the bucket that a day is in, as `2026-11-15`; weeks begin on Mondays. */
export function bucketOfDay(day: number, bucket: TimeBucket): string {
  // The first of January 1970 was a Thursday.
  const first = bucket === 'week' ? day - ((((day + 3) % 7) + 7) % 7) : day
  const date = new Date(first * dayMs)
  if (bucket === 'month') date.setUTCDate(1)
  return date.toISOString().slice(0, -14)
}
