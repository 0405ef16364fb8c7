import { dayMs } from '../time.ts'

/** What live collection takes, used by schemas, code and documentation alike. */
export const liveLimits = {
  platformsMax: 5,
  /** Items for each platform where neither the request nor the policy says. */
  itemsDefault: 20,
  deadlineSecondsMin: 10,
  deadlineSecondsMax: 900,
  deadlineSecondsDefault: 300,
  queryCharactersMax: 1000,
  /** With the spaces around it. */
  queryUntrimmedMax: 10_000,
  resultsDefault: 20,
  resultsMax: 100,
  leaseSecondsDefault: 60,
  leaseSecondsMax: 900,
  tasksDefault: 10,
  tasksMax: 100,
  leasePlatformsMax: 100,
  errorCharactersMax: 1000,
  /** A platform is served when a collector asked for its tasks this recently. */
  servedWithinMs: 5 * 60_000,
  /** How long a live query and the list of what it brought can be read; the documents themselves stay. */
  queriesKeptMs: 30 * dayMs,
} as const

export const resourceKinds = ['content', 'account', 'user', 'channel', 'video'] as const
export type ResourceKind = (typeof resourceKinds)[number]
