/**
 * The only code that decides access. It compiles the entries of an application and the demands of a request into a
 * refusal or a scope. Search, catalog, documents, feed, live and analysis all read through that scope.
 *
 * Rules
 * 1. An entry applies if, in every dimension in which the request names values, it allows at least one of them, and if
 *    it grants every field permission that the request's filters need. Entries are never combined to satisfy a need.
 * 2. If no entry applies, the request is refused.
 * 3. If some named value, named field or want is allowed by no applicable entry, the request is refused. Nothing is
 *    dropped silently.
 * 4. Otherwise the scope consists of the applicable entries, each narrowed to the named values, without hidden
 *    datasets.
 */
import type { FieldPermission, Scope, ScopeEntry } from './scope.ts'

/** The demands of a request. */
export interface AccessRequest {
  /** The values that the request names. Absent or null means that it does not restrict that dimension. */
  readonly datasets?: readonly string[] | null
  readonly platforms?: readonly string[] | null
  /** Only for requests that must not name a language or region outside the entitlements (analysis). */
  readonly languages?: readonly string[] | null
  readonly regions?: readonly string[] | null
  /** The fields that the request names, each with the permissions that open it: any one of them suffices. */
  readonly fields?: readonly { readonly name: string; readonly openedBy: readonly FieldPermission[] }[]
  /** The permissions that the request's conditions need. Any one permission of a group satisfies the group. */
  readonly needs?: readonly (readonly FieldPermission[])[]
  /** The permissions that counting or ordering needs. At least one applicable entry must grant each group. */
  readonly wants?: readonly (readonly FieldPermission[])[]
  /** Datasets that are being erased. A request may name them and finds nothing in them. */
  readonly hidden?: readonly string[]
}

export type Access =
  | { readonly allowed: true; readonly scope: Scope }
  | {
      readonly allowed: false
      readonly reason: string
      readonly path: string | null
      /** The permissions of which at least one is needed and none is granted. */
      readonly missing?: readonly FieldPermission[]
    }

const dimensions = ['datasets', 'platforms', 'languages', 'regions'] as const
type Dimension = (typeof dimensions)[number]

export function compileScope(entries: readonly ScopeEntry[], request: AccessRequest): Access {
  const needs = request.needs ?? []
  const applicable = entries.filter(
    (entry) =>
      dimensions.every((dimension) => {
        const named = request[dimension]
        return !named || named.some((value) => allows(entry, dimension, value))
      }) && needs.every((group) => grants(entry, group)),
  )
  const unmet = request.wants?.find((group) => !applicable.some((entry) => grants(entry, group)))
  if (applicable.length === 0 || unmet !== undefined) {
    return refusalOf(entries, request, unmet === undefined ? needs : [...needs, unmet])
  }
  for (const dimension of dimensions) {
    const value = request[dimension]?.find((one) => !applicable.some((entry) => allows(entry, dimension, one)))
    if (value !== undefined) {
      return { allowed: false, reason: outside(dimension, value), path: dimension }
    }
  }
  const field = request.fields?.find(
    ({ openedBy }) => !applicable.some((entry) => openedBy.some((permission) => entry.fields.includes(permission))),
  )
  if (field !== undefined) {
    return {
      allowed: false,
      reason: `field "${field.name}" is outside this application's entitlements`,
      path: 'fields',
    }
  }
  return { allowed: true, scope: { entries: applicable.map((entry) => narrow(entry, request)) } }
}

/** An ID that no dataset has. An entry whose datasets are all hidden gets it, and then opens nothing. */
const noDataset = ['']

const singular: Record<Dimension, string> = {
  datasets: 'dataset',
  platforms: 'platform',
  languages: 'language',
  regions: 'region',
}

const outside = (dimension: Dimension, value: string): string =>
  `${singular[dimension]} "${value}" is outside this application's entitlements`

function allows(entry: ScopeEntry, dimension: Dimension, value: string): boolean {
  const allowed = entry[dimension]
  return allowed === null || allowed.includes(value)
}

const grants = ({ fields }: ScopeEntry, group: readonly FieldPermission[]): boolean =>
  group.some((field) => fields.includes(field))

function narrow(entry: ScopeEntry, request: AccessRequest): ScopeEntry {
  const kept = (dimension: Dimension): readonly string[] | null => {
    const named = request[dimension]
    return named ? [...new Set(named)].filter((value) => allows(entry, dimension, value)) : entry[dimension]
  }
  const datasets = (kept('datasets') ?? []).filter((one) => !request.hidden?.includes(one))
  return {
    ...entry,
    datasets: datasets.length === 0 && request.hidden !== undefined ? noDataset : datasets,
    platforms: kept('platforms'),
    languages: kept('languages'),
    regions: kept('regions'),
  }
}

/**
 * Returns the reason of a refusal: a dimension whose values no entry allows, that no entry allows all of them together,
 * or the missing permissions.
 */
function refusalOf(
  entries: readonly ScopeEntry[],
  request: AccessRequest,
  needs: readonly (readonly FieldPermission[])[],
): Access {
  const refused = (reason: string, path: string | null = null): Access => ({ allowed: false, reason, path })
  if (entries.length === 0) return refused('this application has no entitlements')
  const named = dimensions.filter((dimension) => request[dimension])
  const withNamed = (of: readonly Dimension[]): readonly ScopeEntry[] =>
    entries.filter((entry) => of.every((one) => request[one]!.some((value) => allows(entry, one, value))))
  for (const dimension of named) {
    if (withNamed([dimension]).length === 0) return refused(outside(dimension, request[dimension]![0]!), dimension)
  }
  const open = withNamed(named)
  const together = named.map((dimension) => `the ${dimension}`).join(' and ')
  if (open.length === 0)
    return refused(`no single entitlement of this application allows ${together} named in the request together`)
  const there = named.length === 0 ? '' : ` for ${together} named in the request`
  const missing = needs.find((group) => !open.some((entry) => grants(entry, group)))
  if (missing !== undefined) {
    const reason = `this needs the field permission ${missing.join(' or ')}, which this application does not have${there}`
    return { allowed: false, reason, path: null, missing }
  }
  const all = needs.map((group) => group.join(' or ')).join(', ')
  return refused(`no single entitlement of this application grants the field permissions ${all} together${there}`)
}
