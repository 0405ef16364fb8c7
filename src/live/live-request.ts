import { Type } from 'typebox'
import { claimKeyPattern } from '../access/claim.ts'
import type { Consumer } from '../access/principal.ts'
import { invalidField } from '../platform/errors.ts'
import { choice, describedBy, exactPattern, named, readOnce, storableText, strict } from '../platform/validation.ts'
import { liveLimits as limits, type ResourceKind, resourceKinds } from './limits.ts'
import { itemsMaxOf, type LiveRequest } from './live-queries.ts'

/** The fields of a live query, in a search and on its own. */
export const liveFields = {
  resource_kind: choice(resourceKinds, { description: 'What the collector should look for.' }),
  max_items_per_platform: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `At most what the policy allows. Default: ${limits.itemsDefault}, or the maximum of the policy if that is lower.`,
    }),
  ),
  deadline_seconds: Type.Optional(
    Type.Integer({
      minimum: limits.deadlineSecondsMin,
      maximum: limits.deadlineSecondsMax,
      default: limits.deadlineSecondsDefault,
      description: 'Collection stops after this many seconds.',
    }),
  ),
}

const platform = Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern })
export const LiveQueryBody = named(
  'LiveQueryRequest',
  Type.Object(
    {
      query: Type.String({
        maxLength: limits.queryUntrimmedMax,
        [describedBy]: Type.String({
          minLength: 1,
          maxLength: limits.queryCharactersMax,
          description: 'What to collect; spaces around it do not count.',
        }),
      }),
      datasets: Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern }), {
        minItems: 1,
        maxItems: 1,
        [readOnce]: true,
        description: 'Exactly one dataset. Collected documents are stored there.',
      }),
      platforms: Type.Array(platform, {
        minItems: 1,
        maxItems: limits.platformsMax,
        [readOnce]: true,
        description: 'The platforms to collect from.',
      }),
      ...liveFields,
    },
    strict,
  ),
)

interface Live {
  readonly resource_kind: ResourceKind
  readonly max_items_per_platform?: number
  readonly deadline_seconds?: number
}

interface SearchWithLive {
  readonly query?: string
  readonly datasets?: readonly string[]
  readonly platforms?: readonly string[]
  readonly cursor?: string
  readonly live?: Live & { readonly enabled: boolean }
}

/** Returns the live query that a search requests in addition to its results; null if it requests none. */
export function liveTopUpOf(
  key: string | string[] | undefined,
  body: SearchWithLive,
  consumer: Consumer,
): LiveRequest | null {
  if (body.live?.enabled !== true) return null
  if (body.datasets?.length !== 1) throw invalid('datasets', 'must name exactly one dataset with live')
  const platforms = body.platforms ?? []
  if (platforms.length < 1 || platforms.length > limits.platformsMax) {
    throw invalid('platforms', `must name 1 to ${limits.platformsMax} platforms with live`)
  }
  // The next page of the same search must get the same live query.
  const { cursor: _, ...same } = body
  return liveRequest(
    key,
    ['search', same],
    { ...body, platforms, datasets: body.datasets },
    body.live,
    'live.',
    consumer,
  )
}

/** Returns the live query of a request that creates one. */
export function liveRequestOf(
  key: string | string[] | undefined,
  body: Live & { query: string; datasets: readonly string[]; platforms: readonly string[] },
  consumer: Consumer,
): LiveRequest {
  return liveRequest(key, ['live', body], body, body, '', consumer)
}

function liveRequest(
  key: string | string[] | undefined,
  same: unknown,
  requested: { readonly query?: string; readonly datasets: readonly string[]; readonly platforms: readonly string[] },
  live: Live,
  path: string,
  consumer: Consumer,
): LiveRequest {
  if (typeof key !== 'string' || !new RegExp(claimKeyPattern).test(key)) {
    throw invalid('Idempotency-Key', 'header is required with live: 1 to 255 printable characters')
  }
  const query = storableText((requested.query ?? '').trim())
  if (query === '') throw invalid('query', 'is required with live')
  if (query.length > limits.queryCharactersMax && [...query].length > limits.queryCharactersMax) {
    throw invalid('query', `must not be longer than ${limits.queryCharactersMax} characters`)
  }
  const itemsMax = itemsMaxOf(consumer)
  if ((live.max_items_per_platform ?? 1) > itemsMax) {
    throw invalid(
      `${path}max_items_per_platform`,
      `must not be above ${itemsMax}, which the policy of this application sets`,
    )
  }
  return {
    idempotencyKey: key,
    body: same,
    query,
    dataset: requested.datasets[0]!,
    platforms: requested.platforms,
    resourceKind: live.resource_kind,
    maxItems: live.max_items_per_platform,
    deadlineSeconds: live.deadline_seconds,
  }
}

const invalid = (path: string, message: string) => invalidField('invalid_query', path, message)
