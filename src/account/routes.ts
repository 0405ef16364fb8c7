import { Type } from 'typebox'
import { EntitlementInput } from '../access/entitlement.ts'
import { usageInWords } from '../access/operations.ts'
import { Policy } from '../access/policy.ts'
import { inFlightMaxOf, rateOf } from '../access/policy-limits.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope, ScopeEntry } from '../access/scope.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatTime, utcDay } from '../platform/time.ts'
import { dateTime, named, noFields, orNull } from '../platform/validation.ts'

const Account = named(
  'Account',
  Type.Object({
    application_id: Type.String(),
    name: Type.String(),
    entitlements: Type.Array(
      named('Entitlement', Type.Object({ entitlement_id: Type.String(), ...EntitlementInput.properties })),
    ),
    policy: Policy,
    embedding_profiles: Type.Array(
      named(
        'ActiveEmbeddingProfile',
        Type.Object({
          id: Type.String({ description: 'Send it as `embedding_profile_id` to start an analysis.' }),
          dimensions: orNull(Type.Integer(), { description: 'Null until the first vector is computed.' }),
          is_default: Type.Boolean({
            description: 'Whether searches use this profile: `query_vector` must have its dimensions.',
          }),
        }),
      ),
      { description: 'Addition: the active embedding profiles.' },
    ),
    earliest_ingested_at: orNull(dateTime, {
      description:
        'Addition: when the oldest document that the application may read was first ingested. Null if there is none, or if finding it would take too long (narrow entitlements over much content).',
    }),
    latest_ingested_at: orNull(dateTime, {
      description: 'Addition: the same for the newest document. May lag by a moment.',
    }),
    feed_retained_from: orNull(dateTime, {
      description: 'Addition: the change feed still has every event of these documents since this time.',
    }),
    usage: named(
      'DailyUsage',
      Type.Object({
        day: Type.String({ description: 'The UTC day being counted.' }),
        operations: Type.Record(Type.String(), Type.Integer(), {
          description:
            `Requests today, by operation. ${usageInWords} ` +
            'Quotas and operations correspond by name: the quota `changes` counts `changes.read`, `export` counts `export.read`, `search_keyword` counts `search.keyword`.',
        }),
      }),
    ),
  }),
)

interface EmbeddingProfile {
  readonly profileId: string
  readonly dimensions: number | null
  readonly status: 'active' | 'inactive'
  readonly isDefault: boolean
}

export interface AccountParts {
  readonly usage: UsageBook
  readonly embeddingProfiles: () => Promise<readonly EmbeddingProfile[]>
  readonly ingestTimes: (scope: Scope) => Promise<IngestTimes | null>
  readonly feedRetentionMs: number
}

interface IngestTimes {
  readonly earliest: number
  readonly latest: number
}

interface KnownContent {
  readonly profiles: readonly EmbeddingProfile[]
  readonly times: IngestTimes | null
}

export function accountRoutes(app: TypedApp, parts: AccountParts): void {
  const { usage, feedRetentionMs } = parts
  const read = async (consumer: Consumer): Promise<KnownContent> => {
    const isEmpty = consumer.entries.length === 0
    const [profiles, times] = await Promise.all([
      parts.embeddingProfiles(),
      isEmpty ? null : parts.ingestTimes(scopeOf(consumer, {})),
    ])
    return { profiles, times }
  }
  /**
   * Caches the content that a scope opens for as long as the key is cached: half a second, or until an operator changes
   * rights.
   */
  const known = new WeakMap<readonly ScopeEntry[], Promise<KnownContent>>()
  const contentOf = (consumer: Consumer): Promise<KnownContent> => {
    const { entries } = consumer
    let content = known.get(entries)
    if (content === undefined) {
      content = read(consumer)
      known.set(entries, content)
      content.catch(() => known.delete(entries))
    }
    return content
  }
  app.get(
    '/v1/account',
    {
      config: { operation: 'account.read', invalid: 'invalid_request' },
      schema: {
        tags: ['Account'],
        summary: 'Get the calling application',
        description:
          'The entitlements and policy of the application as currently applied, the embedding profiles it can use, and its usage today.',
        querystring: noFields,
        response: { 200: Account },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const now = Date.now()
      const { perSecond, burst } = rateOf(consumer.policy)
      const [operations, { profiles, times }] = await Promise.all([
        usage.today(consumer.applicationId, now),
        contentOf(consumer),
      ])
      return {
        application_id: consumer.applicationId,
        name: consumer.name,
        entitlements: [...consumer.entitlements],
        policy: {
          analysis_enabled: false,
          ...consumer.policy,
          requests_per_second: perSecond,
          burst,
          max_in_flight: inFlightMaxOf(consumer.policy),
        },
        embedding_profiles: profiles
          .filter(({ status }) => status === 'active')
          .map(({ profileId, dimensions, isDefault }) => ({ id: profileId, dimensions, is_default: isDefault })),
        earliest_ingested_at: times && formatTime(times.earliest),
        latest_ingested_at: times && formatTime(times.latest),
        feed_retained_from: times && formatTime(Math.max(times.earliest, now - feedRetentionMs)),
        usage: { day: utcDay(now), operations },
      }
    },
  )
}
