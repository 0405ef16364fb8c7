import { Type } from 'typebox'
import { EntitlementInput } from '../access/entitlement.ts'
import { inFlightMaxOf, Policy, rateOf } from '../access/policy.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { utcDay } from '../time.ts'
import { noFields } from '../validation.ts'

const Account = Type.Object({
  application_id: Type.String(),
  name: Type.String(),
  entitlements: Type.Array(Type.Object({ entitlement_id: Type.String(), ...EntitlementInput.properties })),
  policy: Policy,
  usage: Type.Object({
    day: Type.String({ description: 'The UTC calendar day that is counted.' }),
    operations: Type.Record(Type.String(), Type.Integer(), { description: 'Requests answered today, by operation.' }),
  }),
})

export function accountRoutes(app: TypedApp, usage: UsageBook): void {
  app.get(
    '/v1/account',
    {
      config: { operation: 'account.read', invalid: 'invalid_request' },
      schema: {
        tags: ['Account'],
        summary: 'The calling application',
        description: 'Its entitlements and policy as they are applied now, and what it has used today.',
        querystring: noFields,
        response: { 200: Account },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const now = Date.now()
      const { perSecond, burst } = rateOf(consumer.policy)
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
        usage: { day: utcDay(now), operations: await usage.today(consumer.applicationId, now) },
      }
    },
  )
}
