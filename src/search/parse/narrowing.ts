import { type Static, Type } from 'typebox'
import type { AccessRequest } from '../../access/compile-scope.ts'
import { conditionsByNeed, needsOf } from '../../catalog/listing-rules.ts'
import { type ErrorDetail, TidemarkError } from '../../platform/errors.ts'
import { timeBuckets } from '../../platform/time-buckets.ts'
import { choice, exactPattern, named, readOnce, strict } from '../../platform/validation.ts'
import { columnOf, columnPermissions } from '../column-permissions.ts'
import { type Facet, facetFields } from '../facets.ts'
import { searchLimits as limits } from '../limits.ts'
import { type CatalogConditions, type FacetsRequest, type KeywordOrder, keywordOrders } from '../search-index.ts'

/** Optional parts of a search request: conditions on catalog columns, the order, and facets. */
const exact = { minLength: 1, maxLength: 512, pattern: exactPattern } as const
const values = (description: string) =>
  Type.Optional(
    Type.Array(Type.String(exact), {
      minItems: 1,
      maxItems: 200,
      [readOnce]: true,
      description: `Addition, keyword mode only: documents with at least one of these ${description}. Matched exactly, including case.`,
    }),
  )
const score = (description: string) =>
  Type.Optional(
    Type.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Addition, keyword mode only: ${description} platform score, inclusive. Needs \`metrics\`.`,
    }),
  )

export const narrowingFields = {
  external_author_id: Type.Optional(
    Type.String({
      ...exact,
      description:
        'Addition, keyword mode only: documents by this author. Needs exactly one value in `platforms`, and the permission `author` or `metadata`.',
    }),
  ),
  topics: values('topics (needs `metadata`)'),
  tags: values('platform tags (needs `metadata`)'),
  classification_codes: values('classification codes (needs `facts`)'),
  score_min: score('the minimum'),
  score_max: score('the maximum'),
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
          named('FacetField', choice(facetFields)),
          named('TimeFacet', Type.Object({ published_at: choice(timeBuckets) }, strict)),
        ]),
      ),
      {
        minItems: 1,
        maxItems: 200,
        [readOnce]: true,
        description:
          'Addition: count the matching documents by these fields. In keyword mode all matches are counted, exactly; in vector and hybrid mode only the candidates. ' +
          '`author` needs the permission `author` or `metadata`, `topics` and `tags` need `metadata`, `classifications` needs `facts`: without it the request is refused, and only documents readable with it are counted. ' +
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
  readonly conditions: CatalogConditions
  readonly order: KeywordOrder
  readonly facets: FacetsRequest | null
  /** The permissions that the conditions need, all of them in one entry. */
  readonly needs: NonNullable<AccessRequest['needs']>
  /** The permissions that the order and the facets use, in any entry: documents without them are found all the same. */
  readonly wants: NonNullable<AccessRequest['wants']>
}

const keywordOnly = [
  'external_author_id',
  'topics',
  'tags',
  'classification_codes',
  'score_min',
  'score_max',
  'sort',
] as const satisfies readonly (keyof typeof narrowingFields)[]

export function checkNarrowing(body: Static<typeof NarrowingBody>, isKeyword: boolean): Narrowing {
  const faults: ErrorDetail[] = []
  const fault = (path: string, message: string) => faults.push({ path, message })
  if (!isKeyword) {
    for (const name of keywordOnly) {
      const isUsual = name === 'sort' && body.sort === 'relevance'
      if (body[name] !== undefined && !isUsual) fault(name, 'works in keyword mode only')
    }
  }
  const { external_author_id: authorId = null, score_min: scoreMin = null, score_max: scoreMax = null } = body
  if (authorId !== null && body.platforms?.length !== 1) {
    fault('external_author_id', 'needs exactly one value in platforms')
  }
  if (scoreMin !== null && scoreMax !== null && scoreMin > scoreMax) {
    fault('score_min', 'must not be greater than score_max')
  }
  const of: readonly Facet[] = [...new Map((body.facets ?? []).map((facet) => [JSON.stringify(facet), facet])).values()]
  if (of.filter((facet) => nameOfFacet(facet) === 'published_at').length > 1) {
    fault('facets', `must count published_at by only one of ${timeBuckets.join(', ')}`)
  }
  if (faults.length > 0) {
    const [{ path, message }] = faults as [ErrorDetail]
    throw new TidemarkError('invalid_query', `${path} ${message}`, { details: faults })
  }
  const conditions: CatalogConditions = {
    authorId,
    topics: body.topics ?? null,
    tags: body.tags ?? null,
    classifications: body.classification_codes ?? null,
    scoreMin,
    scoreMax,
  }
  const order = body.sort ?? 'relevance'
  return {
    conditions,
    order,
    facets: of.length === 0 ? null : { of, limit: body.facet_limit ?? limits.facetValuesDefault },
    needs: needsOf({
      author: authorId !== null,
      words: body.topics !== undefined || body.tags !== undefined,
      classifications: body.classification_codes !== undefined,
      score: scoreMin !== null || scoreMax !== null,
    }),
    wants: [...of.map(columnOf), order === '-score' ? ('score' as const) : null].flatMap((column) =>
      column === null ? [] : [columnPermissions[column]],
    ),
  }
}

/** Each part of the request with the permission that it needs, for the error if that is missing. */
export function narrowingByNeed(body: Static<typeof NarrowingBody>) {
  const counted = (body.facets ?? []).flatMap((facet) => columnOf(facet) ?? [])
  const names = counted.map((column) => [columnPermissions[column].join(' or '), 'facets'])
  const conditions = Object.entries(conditionsByNeed(body)).filter(([, name]) => name !== undefined)
  return Object.fromEntries([...(body.sort === '-score' ? [['metrics', 'sort']] : []), ...names, ...conditions])
}

/** The name of the facet in the answer. */
export const nameOfFacet = (facet: Facet) => (typeof facet === 'string' ? facet : 'published_at')
