import { plainEventTypes } from './change-log.ts'

/** What a cursor of the feed belongs to: the application and every filter. */
export interface FeedFilter {
  readonly applicationId: string
  readonly types: readonly string[] | null
  readonly datasets: readonly string[] | null
  readonly platforms: readonly string[] | null
  readonly ingestedFrom: number | null
  readonly ingestedTo: number | null
}

/**
 * In a fixed order. Lists count as they were written, but not for readers of the later event types: their cursors also
 * come from an export, which knows the values and not how a reader will write them.
 */
export function feedBinding({ applicationId, types, datasets, platforms, ...times }: FeedFilter): unknown {
  const isPlain = types === null || types.every((type) => (plainEventTypes as readonly string[]).includes(type))
  const listed = (values: readonly string[] | null) => (isPlain || values === null ? values : [...values].sort())
  const { ingestedFrom, ingestedTo } = times
  return ['changes', applicationId, listed(types), listed(datasets), listed(platforms), ingestedFrom, ingestedTo]
}
