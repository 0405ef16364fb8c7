import { defaultEventTypes } from './change-log.ts'

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
 * Returns the values in a fixed order. Lists keep the order of the request, so that old cursors stay valid. With
 * `document.updated` or `document.erased`, lists are sorted, because the cursor may come from an export, where the
 * order is unknown.
 */
export function feedBinding({ applicationId, types, datasets, platforms, ...times }: FeedFilter): unknown {
  const isPlain = types === null || types.every((type) => (defaultEventTypes as readonly string[]).includes(type))
  const listed = (values: readonly string[] | null) => (isPlain || values === null ? values : [...values].sort())
  const { ingestedFrom, ingestedTo } = times
  return ['changes', applicationId, listed(types), listed(datasets), listed(platforms), ingestedFrom, ingestedTo]
}
