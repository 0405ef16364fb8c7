import type { AccessRequest } from '../../access/compile-scope.ts'
import { narrowingByNeed } from './narrowing.ts'
import {
  bindingOf,
  checkSearch,
  type Mode,
  namedFields,
  neededPermissions,
  type SearchBody,
  type SearchRequest,
} from './search-request.ts'

/** A parsed search body. */
export interface ParsedSearch {
  readonly request: SearchRequest
  /**
   * The entitlements that the request needs, and the field of the body that needs each. An error about a missing
   * entitlement names this field.
   */
  readonly access: AccessRequest
  readonly namesByNeed: Readonly<Record<string, string>>
  /** The request that a cursor is bound to. */
  binding(): unknown
}

/** The first step of a search: checks the body and translates it into a request. */
export function parse(body: SearchBody, fixedMode: Mode | null, dimensions: number | null): ParsedSearch {
  const request = checkSearch(body, fixedMode, dimensions)
  return {
    request,
    access: {
      datasets: body.datasets ?? null,
      platforms: body.platforms ?? null,
      fields: namedFields(body),
      needs: neededPermissions(request),
      wants: request.wants,
    },
    namesByNeed: narrowingByNeed(body),
    binding: () => bindingOf(request),
  }
}
