import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import type { Cursors } from '../cursors.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { formatTime } from '../time.ts'
import { choice, exact, printable } from '../validation.ts'
import { analysisTypes, executionModes } from './analysis-store.ts'
import { InputScope } from './input-scope.ts'
import { analysisLimits } from './limits.ts'
import { openCursor, pageOf, pageParameters } from './page-routes.ts'
import { type AnalysisSubscriptions, type SubscriptionNow, subscriptionStatuses } from './subscriptions.ts'

const invalid = 'invalid_analysis_subscription'
const time = Type.String({ format: 'date-time' })
const nothing = Type.Object({}, { additionalProperties: false })
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

const SubscriptionAnswer = Type.Object({
  subscription_id: Type.String(),
  name: Type.String(),
  analysis_type: choice(analysisTypes),
  input_scope: InputScope,
  execution_mode: choice(executionModes),
  embedding_profile_id: orNull(Type.String()),
  interval_seconds: orNull(Type.Integer()),
  artifact_retention_days: orNull(Type.Integer()),
  status: choice(subscriptionStatuses, {
    description:
      '`disabled` while the application has no analysis, `reconciliation_required` while the scope or the profile is not allowed.',
  }),
  created_at: time,
  updated_at: time,
})

const CreateBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: analysisLimits.nameCharactersMax, pattern: printable }),
    analysis_type: choice(analysisTypes),
    input_scope: InputScope,
    execution_mode: choice(executionModes),
    embedding_profile_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: exact,
        description: 'Required for every type but `feature_rollup`.',
      }),
    ),
    interval_seconds: Type.Optional(
      Type.Integer({ minimum: analysisLimits.intervalSecondsMin, maximum: analysisLimits.intervalSecondsMax }),
    ),
    artifact_retention_days: Type.Optional(Type.Integer({ minimum: 1, maximum: analysisLimits.retentionDaysMax })),
  },
  { additionalProperties: false },
)

const ById = Type.Object({ subscription_id: Type.String({ minLength: 1, maxLength: 128 }) })
const config = (operation: Operation) => ({ surface: 'consumer', operation, invalid }) as const
const about = (summary: string, description: string) => ({ tags: ['Analysis'], summary, description })

export function analysisSubscriptionRoutes(
  app: TypedApp,
  subscriptions: AnalysisSubscriptions,
  cursors: Cursors,
): void {
  app.post(
    '/v1/analysis/subscriptions',
    {
      config: config('analysis.subscriptions.create'),
      schema: {
        ...about('Create a subscription', 'Scheduling is not live: a subscription creates no runs yet.'),
        querystring: nothing,
        body: CreateBody,
        response: { 201: SubscriptionAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const made = await subscriptions.create(consumerOf(request), {
        name: body.name,
        analysisType: body.analysis_type,
        inputScope: body.input_scope,
        executionMode: body.execution_mode,
        embeddingProfileId: body.embedding_profile_id ?? null,
        intervalSeconds: body.interval_seconds ?? null,
        artifactRetentionDays: body.artifact_retention_days ?? null,
      })
      return reply.status(201).send(answerOf(made))
    },
  )

  app.get(
    '/v1/analysis/subscriptions',
    {
      config: config('analysis.subscriptions.list'),
      schema: {
        ...about('The subscriptions of the application, newest first', 'With the status each has now.'),
        querystring: Type.Object(pageParameters, { additionalProperties: false }),
        response: {
          200: Type.Object({
            subscriptions: Type.Array(SubscriptionAnswer),
            next_cursor: Type.Optional(Type.String()),
          }),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { limit = analysisLimits.pageDefault, cursor } = request.query
      const binding = ['analysis.subscriptions', consumer.applicationId, limit]
      const before = await openCursor(cursors, { path: 'cursor', cursor }, binding, invalid)
      const found = await subscriptions.list(consumer, { before, limit: limit + 1 })
      const { items, next } = pageOf(found, limit, (last) => cursors.sign(binding, last.subscription.subscriptionId))
      return { subscriptions: items.map(answerOf), ...next }
    },
  )

  app.post(
    '/v1/analysis/subscriptions/:subscription_id/pause',
    {
      config: config('analysis.subscriptions.pause'),
      schema: {
        ...about('Pause a subscription', 'Again changes nothing.'),
        params: ById,
        querystring: nothing,
        response: { 200: SubscriptionAnswer },
      },
    },
    async (request) => answerOf(await subscriptions.pause(consumerOf(request), request.params.subscription_id)),
  )

  app.post(
    '/v1/analysis/subscriptions/:subscription_id/resume',
    {
      config: config('analysis.subscriptions.resume'),
      schema: {
        ...about(
          'Resume a subscription',
          'Tests again what creation tests, with the same errors. Again changes nothing.',
        ),
        params: ById,
        querystring: nothing,
        response: { 200: SubscriptionAnswer },
      },
    },
    async (request) => answerOf(await subscriptions.resume(consumerOf(request), request.params.subscription_id)),
  )

  app.get(
    '/v1/analysis/subscriptions/:subscription_id/runs',
    {
      config: config('analysis.subscriptions.runs'),
      schema: {
        ...about(
          'The runs of a subscription',
          'Empty while scheduling is not live. `next_cursor` is where a later read goes on.',
        ),
        params: ById,
        querystring: Type.Object(
          { after: Type.Optional(Type.String({ description: '`next_cursor` of the previous read.' })) },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({ runs: Type.Array(Type.Object({ run_id: Type.String() })), next_cursor: Type.String() }),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { subscription_id: subscriptionId } = request.params
      const binding = ['analysis.subscriptions.runs', consumer.applicationId, subscriptionId]
      const after = await openCursor(cursors, { path: 'after', cursor: request.query.after }, binding, invalid)
      await subscriptions.read(consumer, subscriptionId)
      return { runs: [], next_cursor: cursors.sign(binding, after ?? '') }
    },
  )

  app.get(
    '/v1/analysis/subscriptions/:subscription_id/checkpoint',
    {
      config: config('analysis.subscriptions.checkpoint'),
      schema: {
        ...about('How far a subscription has come', 'Null while scheduling is not live.'),
        params: ById,
        querystring: nothing,
        response: {
          200: Type.Object({
            subscription_id: Type.String(),
            checkpoint: orNull(Type.Object({ sequence: Type.Integer(), run_id: Type.String(), completed_at: time })),
          }),
        },
      },
    },
    async (request) => {
      const { subscription } = await subscriptions.read(consumerOf(request), request.params.subscription_id)
      return { subscription_id: subscription.subscriptionId, checkpoint: null }
    },
  )
}

function answerOf({ subscription, status }: SubscriptionNow): Static<typeof SubscriptionAnswer> {
  return {
    subscription_id: subscription.subscriptionId,
    name: subscription.name,
    analysis_type: subscription.analysisType,
    input_scope: subscription.inputScope,
    execution_mode: subscription.executionMode,
    embedding_profile_id: subscription.embeddingProfileId,
    interval_seconds: subscription.intervalSeconds,
    artifact_retention_days: subscription.artifactRetentionDays,
    status,
    created_at: formatTime(subscription.createdAt),
    updated_at: formatTime(subscription.updatedAt),
  }
}
