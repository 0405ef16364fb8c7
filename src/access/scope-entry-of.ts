import { parseKnownTime } from '../time.ts'
import type { EntitlementInput } from './entitlement.ts'
import { fieldPermissions, type ScopeEntry } from './scope.ts'

/** Beside the schema and not with it: threads of the store need this, and would load the schemas' library for it. */
export function scopeEntryOf(entitlement: EntitlementInput): ScopeEntry {
  return {
    datasets: entitlement.datasets,
    platforms: entitlement.platforms ?? null,
    languages: entitlement.languages ?? null,
    regions: entitlement.regions ?? null,
    publishedFrom: entitlement.published_from === undefined ? null : parseKnownTime(entitlement.published_from),
    publishedTo: entitlement.published_to === undefined ? null : parseKnownTime(entitlement.published_to),
    fields: entitlement.fields ?? fieldPermissions,
  }
}
