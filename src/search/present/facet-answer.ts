import { type Static, Type } from 'typebox'
import { facetNames } from '../../document/rows.ts'
import { named } from '../../platform/validation.ts'
import { nameOfFacet } from '../parse/narrowing.ts'
import type { FacetsRequest } from '../search-index.ts'
import type { SearchResult } from './search-result.ts'

export const ValueCount = named(
  'ValueCount',
  Type.Object({ value: Type.String(), count: Type.Integer({ description: 'The number of documents.' }) }),
)

const Counts = Type.Optional(Type.Array(ValueCount))
const names = [...facetNames, 'published_at'] as const

/** The part of the answer with the requested facets. */
export const facetAnswerFields = {
  facets: Type.Optional(
    named(
      'FacetCounts',
      Type.Object(
        Object.fromEntries(names.map((name) => [name, Counts])) as Record<(typeof names)[number], typeof Counts>,
        {
          description:
            'Addition, with `facets`: counts for each requested facet, most frequent first, then by value. Times are given as the first day of their day, week or month.',
        },
      ),
    ),
  ),
  facets_exact: Type.Optional(
    Type.Boolean({
      description:
        'Addition, with `facets`: whether all matching documents were counted. False if only candidates were, or if the search was degraded: see `warnings`.',
    }),
  ),
}
const Answer = Type.Object(facetAnswerFields)

export function facetAnswer(
  requested: FacetsRequest | null,
  { facets, facetsExact }: SearchResult,
): Static<typeof Answer> {
  if (requested === null) return {}
  const counted = requested.of.map((facet, i) => [nameOfFacet(facet), facets[i] ?? []])
  return { facets: Object.fromEntries(counted), facets_exact: facetsExact }
}
