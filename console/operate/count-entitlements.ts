import { ask } from '../app/ask.ts'
import type { EntitlementCount, EntitlementEntry } from './answers.ts'

/** How many documents these entries open, as the search index has them. Changes nothing. */
export const countEntitlements = (
  entitlements: readonly EntitlementEntry[],
  signal: AbortSignal,
): Promise<EntitlementCount> =>
  ask('POST', '/admin/v1/entitlements/count', { as: 'admin', body: { entitlements }, repeatable: true, signal })
