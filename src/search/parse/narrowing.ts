import { type Static, Type } from 'typebox'
import type { AccessRequest } from '../../access/compile-scope.ts'
import type { Conditions } from '../../document/field-types.ts'
import {
  conditionsIn,
  filterFaults,
  filterSchemas,
  filterTexts,
  needsOf,
  type ParameterValues,
  parameterNamesOf,
  parametersByNeed,
  permissionsNeeded,
} from '../../document/filters.ts'
import { facetNames, filterRows } from '../../document/rows.ts'
import { type ErrorDetail, TidemarkError } from '../../platform/errors.ts'
import { timeBuckets } from '../../platform/time-buckets.ts'
import { choice, named, readOnce, strict } from '../../platform/validation.ts'
import { columnOf, scoreRow } from '../column-permissions.ts'
import type { Facet } from '../facets.ts'
import { searchLimits as limits } from '../limits.ts'
import { type FacetsRequest, type KeywordOrder, keywordOrders } from '../search-index.ts'

/** Optional parts of a search request: conditions on catalog columns, the order, and facets. */
const filters = filterSchemas('Addition, keyword mode only: ', 'platforms', (description) =>
  filterTexts(description, { [readOnce]: true }),
)
const filterNames = filterRows.flatMap(parameterNamesOf)

export const narrowingFields = {
  ...filters,
  sort: Type.Optional(
    choice(keywordOrders, {
      description:
        'Addition, keyword mode only: the order of results. `published_at` puts the oldest first, `-published_at` the newest, `-score` the highest platform score (needs `metrics`). Default: `relevance`. Documents without that time or score, or whose score you may not read, come last; ties are ordered by ID.',
    }),
  ),
  facets: Type.Optional(
    Type.Array(
      named(
        'Facet',
        Type.Union([
          named('FacetField', choice(facetNames)),
          named('TimeFacet', Type.Object({ published_at: choice(timeBuckets) }, strict)),
        ]),
      ),
      {
        minItems: 1,
        maxItems: 200,
        [readOnce]: true,
        description:
          'Addition: count the matching documents by these fields. In keyword mode all matches are counted, exactly; in vector and hybrid mode only the candidates. ' +
          `Permissions: ${permissionsNeeded(facetNames)}. Without the permission, the request is refused. Only documents that it opens are counted. ` +
          'Facets never change the results. Times are counted by day, week (from Monday) or month, in UTC.',
      },
    ),
  ),
  facet_limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.facetValuesMax,
      default: limits.facetValuesDefault,
      description: 'Addition: the maximum number of values per facet, most frequent first.',
    }),
  ),
}
const NarrowingBody = Type.Object({ ...narrowingFields, platforms: Type.Optional(Type.Array(Type.String())) })

export interface Narrowing {
  readonly conditions: Conditions
  readonly order: KeywordOrder
  readonly facets: FacetsRequest | null
  /** The permissions that the conditions need, all of them in one entry. */
  readonly needs: NonNullable<AccessRequest['needs']>
  /** The permissions that order and facets use. Documents whose entries do not grant them are still found. */
  readonly wants: NonNullable<AccessRequest['wants']>
}

export function checkNarrowing(body: Static<typeof NarrowingBody>, isKeyword: boolean): Narrowing {
  const given: ParameterValues = body
  const faults: ErrorDetail[] = []
  const fault = (path: string, message: string) => faults.push({ path, message })
  if (!isKeyword) {
    for (const name of [...filterNames, 'sort']) {
      const isDefault = name === 'sort' && body.sort === 'relevance'
      if (given[name] !== undefined && !isDefault) fault(name, 'works in keyword mode only')
    }
  }
  faults.push(...filterFaults(given, body.platforms ?? null, 'platforms'))
  const facets: readonly Facet[] = [
    ...new Map((body.facets ?? []).map((facet) => [JSON.stringify(facet), facet])).values(),
  ]
  if (facets.filter((facet) => nameOfFacet(facet) === 'published_at').length > 1) {
    fault('facets', `must count published_at by only one of ${timeBuckets.join(', ')}`)
  }
  if (faults.length > 0) {
    const [{ path, message }] = faults as [ErrorDetail]
    throw new TidemarkError('invalid_query', `${path} ${message}`, { details: faults })
  }
  const conditions = conditionsIn(given)
  const order = body.sort ?? 'relevance'
  return {
    conditions,
    order,
    facets: facets.length === 0 ? null : { of: facets, limit: body.facet_limit ?? limits.facetValuesDefault },
    needs: needsOf(conditions),
    wants: [...facets.map(columnOf), order === '-score' ? scoreRow : null].flatMap((row) =>
      row === null ? [] : [row.openedBy],
    ),
  }
}

/** For each needed permission, the field of the body that needs it. An error about a missing permission names it. */
export function narrowingByNeed(body: Static<typeof NarrowingBody>) {
  const counted = (body.facets ?? []).flatMap((facet) => columnOf(facet) ?? [])
  const names = counted.map(({ openedBy }) => [openedBy.join(' or '), 'facets'])
  const ordered = body.sort === '-score' ? [[scoreRow.openedBy.join(' or '), 'sort']] : []
  return { ...Object.fromEntries([...ordered, ...names]), ...parametersByNeed(body) }
}

/** The name of the facet in the answer. */
export const nameOfFacet = (facet: Facet) => (typeof facet === 'string' ? facet : 'published_at')
