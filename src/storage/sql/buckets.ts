import { dayMs } from '../../platform/time.ts'

/**
 * Buckets of scores and of publication times. A range of values has too many values to walk each of them in the order
 * of the catalog, but it touches few buckets. Each bucket is one run of an index, in the order of document ids. The
 * exact bounds are checked on the documents found.
 *
 * The expressions are part of two indexes (see `migrations/`). A database uses these indexes only for exactly the same
 * expression, so a change here needs a migration that rebuilds the indexes.
 */
/** Truncates towards zero, as both databases do. Days only need to be monotonic. */
export const dayOf = (timeMs: number): number => Math.trunc(timeMs / dayMs)
export const dayExpression = (column: string): string => `(${column} / ${dayMs})`

const steps = [1, 2, 5]
const decades = (most: number): number[] =>
  Array.from({ length: most }, (_, power) => steps.map((step) => step * 10 ** power)).flat()

/** The least score of each bucket except the first, ascending: 1, 2, 5, 10, … on both sides of 0. */
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
