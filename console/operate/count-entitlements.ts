import { ask } from '../app/ask.ts'
import type { EntitlementCount, EntitlementEntry } from './answers.ts'

/** Returns how many documents these entries open, by the search index. Changes nothing. */
export const countEntitlements = (
  entitlements: readonly EntitlementEntry[],
  signal: AbortSignal,
): Promise<EntitlementCount> =>
  ask('POST', '/admin/v1/entitlements/count', { as: 'admin', body: { entitlements }, repeatable: true, signal })
