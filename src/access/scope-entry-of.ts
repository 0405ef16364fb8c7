import { parseKnownBound } from '../platform/time.ts'
import type { EntitlementInput } from './entitlement.ts'
import { fieldPermissions, type ScopeEntry } from './scope.ts'

/** A separate file, because the store's threads use it and must not load the schema library. */
export function scopeEntryOf(entitlement: EntitlementInput): ScopeEntry {
  return {
    datasets: entitlement.datasets,
    platforms: entitlement.platforms ?? null,
    languages: entitlement.languages ?? null,
    regions: entitlement.regions ?? null,
    publishedFrom: entitlement.published_from === undefined ? null : parseKnownBound(entitlement.published_from),
    publishedTo: entitlement.published_to === undefined ? null : parseKnownBound(entitlement.published_to),
    fields: entitlement.fields ?? fieldPermissions,
  }
}
