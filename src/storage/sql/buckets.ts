import { dayMs } from '../../time.ts'

/**
 * Ranges as runs of equal values. A score or a publication time has too many values to list a range of them in the
 * order of the catalog; its bucket has few. Each bucket is one run of an index that then is in the order of document
 * ids, a range is the few buckets that it touches, and the exact bounds are checked on the documents found there.
 *
 * The expressions are part of two indexes (see `migrations/`): a database uses those only for the very same expression,
 * so a change here needs a migration that makes the indexes anew.
 */
/** Both databases cut towards zero, as this does; days that never ascend and then fall are all that is needed. */
export const dayOf = (timeMs: number): number => Math.trunc(timeMs / dayMs)
export const dayExpression = (column: string): string => `(${column} / ${dayMs})`

const steps = [1, 2, 5]
const decades = (most: number): number[] =>
  Array.from({ length: most }, (_, power) => steps.map((step) => step * 10 ** power)).flat()

/** The least score of each bucket but the first, ascending: 1, 2, 5, 10, … on both sides of 0. */
const scoreBounds: readonly number[] = [
  ...decades(6)
    .reverse()
    .map((bound) => -bound),
  0,
  ...decades(9),
]

export const scoreBucketLast = scoreBounds.length

export const scoreBucketOf = (score: number): number => {
  const next = scoreBounds.findIndex((bound) => score < bound)
  return next < 0 ? scoreBucketLast : next
}

export const scoreBucketExpression = (column: string): string =>
  `(case when ${column} is null then null ${scoreBounds
    .map((bound, bucket) => `when ${column} < ${bound} then ${bucket}`)
    .join(' ')} else ${scoreBucketLast} end)`
