import { callApi } from '../app/call-api.ts'
import type { EntitlementCount, EntitlementEntry } from './answers.ts'

/** Returns how many documents these entries make readable, as the search index counts them. Changes nothing. */
export const countEntitlements = (
  entitlements: readonly EntitlementEntry[],
  signal: AbortSignal,
): Promise<EntitlementCount> =>
  callApi('POST', '/admin/v1/entitlements/count', { as: 'admin', body: { entitlements }, repeatable: true, signal })
