import { dayMs } from '../platform/time.ts'

/** The limits of live collection. */
export const liveLimits = {
  platformsMax: 5,
  /** Items per platform if neither the request nor the policy sets a number. */
  itemsDefault: 20,
  deadlineSecondsMin: 10,
  deadlineSecondsMax: 900,
  deadlineSecondsDefault: 300,
  queryCharactersMax: 1000,
  /**
   * Characters including leading and trailing spaces. A request body cannot hold more, so callers only run into
   * `queryCharactersMax`, which applies to the trimmed text.
   */
  queryUntrimmedMax: 2 ** 20,
  resultsDefault: 20,
  resultsMax: 100,
  leaseSecondsDefault: 60,
  leaseSecondsMax: 900,
  tasksDefault: 10,
  tasksMax: 100,
  leasePlatformsMax: 100,
  errorCharactersMax: 1000,
  /** A platform is served if a collector asked for its tasks this recently. */
  servedWithinMs: 5 * 60_000,
  /** How long a live query and its list of results can be read; the documents themselves stay. */
  queriesKeptMs: 30 * dayMs,
} as const

export const resourceKinds = ['content', 'account', 'user', 'channel', 'video'] as const
export type ResourceKind = (typeof resourceKinds)[number]
