import { plainEventTypes } from './change-log.ts'

/** A feed cursor is bound to these values: the application and every filter. */
export interface FeedFilter {
  readonly applicationId: string
  readonly types: readonly string[] | null
  readonly datasets: readonly string[] | null
  readonly platforms: readonly string[] | null
  readonly ingestedFrom: number | null
  readonly ingestedTo: number | null
}

/**
 * The values in a fixed order. Lists count as they were written, so that old cursors stay valid. For readers of the
 * later event types they are sorted: their cursors also come from an export, which does not know the order in which a
 * reader will write them.
 */
export function feedBinding({ applicationId, types, datasets, platforms, ...times }: FeedFilter): unknown {
  const isPlain = types === null || types.every((type) => (plainEventTypes as readonly string[]).includes(type))
  const listed = (values: readonly string[] | null) => (isPlain || values === null ? values : [...values].sort())
  const { ingestedFrom, ingestedTo } = times
  return ['changes', applicationId, listed(types), listed(datasets), listed(platforms), ingestedFrom, ingestedTo]
}
