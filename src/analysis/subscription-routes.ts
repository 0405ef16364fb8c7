import { type Static, Type } from 'typebox'
import type { Cursors } from '../cursors.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatTime } from '../time.ts'
import { choice, dateTime, idOf, named, noFields, orNull, printablePattern, strict } from '../validation.ts'
import { analysisLimits } from './limits.ts'
import {
  about,
  answerFields,
  answerOf,
  config,
  nextCursor,
  openCursor,
  pageParameters,
  readPage,
  requestFields,
  requestOf,
} from './route-frame.ts'
import { executionModes } from './subscription-store.ts'
import { type AnalysisSubscriptions, type SubscriptionNow, subscriptionStatuses } from './subscriptions.ts'

const invalid = 'invalid_analysis_subscription'

const SubscriptionAnswer = named(
  'AnalysisSubscription',
  Type.Object({
    subscription_id: Type.String(),
    name: Type.String(),
    ...answerFields,
    execution_mode: choice(executionModes),
    interval_seconds: orNull(Type.Integer()),
    artifact_retention_days: orNull(Type.Integer()),
    status: choice(subscriptionStatuses, {
      description:
        '`disabled` while the application has no analysis, `reconciliation_required` while the scope or the profile is not allowed.',
    }),
    created_at: dateTime,
    updated_at: dateTime,
  }),
)

const CreateBody = named(
  'AnalysisSubscriptionRequest',
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: analysisLimits.nameCharactersMax, pattern: printablePattern }),
      ...requestFields,
      execution_mode: choice(executionModes),
      interval_seconds: Type.Optional(
        Type.Integer({ minimum: analysisLimits.intervalSecondsMin, maximum: analysisLimits.intervalSecondsMax }),
      ),
      artifact_retention_days: Type.Optional(Type.Integer({ minimum: 1, maximum: analysisLimits.retentionDaysMax })),
    },
    strict,
  ),
)

const ById = Type.Object({ subscription_id: idOf('subscription') })

export function analysisSubscriptionRoutes(
  app: TypedApp,
  subscriptions: AnalysisSubscriptions,
  cursors: Cursors,
): void {
  app.post(
    '/v1/analysis/subscriptions',
    {
      config: config('analysis.subscriptions.create', invalid, 'analysis_request_failed', 'analysis_forbidden'),
      schema: {
        ...about('Create an analysis subscription', 'Scheduling is not live: a subscription creates no runs yet.'),
        querystring: noFields,
        body: CreateBody,
        response: { 201: SubscriptionAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const made = await subscriptions.create(consumerOf(request), {
        name: body.name,
        ...requestOf(body),
        executionMode: body.execution_mode,
        intervalSeconds: body.interval_seconds ?? null,
        artifactRetentionDays: body.artifact_retention_days ?? null,
      })
      return reply.status(201).send(subscriptionAnswer(made))
    },
  )

  app.get(
    '/v1/analysis/subscriptions',
    {
      config: config('analysis.subscriptions.list', invalid),
      schema: {
        ...about('List analysis subscriptions', 'Newest first. With the status each has now.'),
        querystring: Type.Object(pageParameters, strict),
        response: {
          200: named(
            'AnalysisSubscriptionPage',
            Type.Object({ subscriptions: Type.Array(SubscriptionAnswer), next_cursor: nextCursor }),
          ),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { applicationId } = consumer
      const { items, next } = await readPage(
        { cursors, list: 'analysis.subscriptions', applicationId, conditions: [], query: request.query, invalid },
        (range) => subscriptions.list(consumer, range),
        ({ subscription }) => subscription.subscriptionId,
      )
      return { subscriptions: items.map(subscriptionAnswer), ...next }
    },
  )

  app.post(
    '/v1/analysis/subscriptions/:subscription_id/pause',
    {
      config: config('analysis.subscriptions.pause', invalid, 'analysis_not_found'),
      schema: {
        ...about('Pause an analysis subscription', 'Again changes nothing.'),
        params: ById,
        querystring: noFields,
        response: { 200: SubscriptionAnswer },
      },
    },
    async (request) =>
      subscriptionAnswer(await subscriptions.pause(consumerOf(request), request.params.subscription_id)),
  )

  app.post(
    '/v1/analysis/subscriptions/:subscription_id/resume',
    {
      config: config(
        'analysis.subscriptions.resume',
        invalid,
        'analysis_request_failed',
        'analysis_forbidden',
        'analysis_not_found',
      ),
      schema: {
        ...about(
          'Resume an analysis subscription',
          'Tests again what creation tests, with the same errors. Again changes nothing.',
        ),
        params: ById,
        querystring: noFields,
        response: { 200: SubscriptionAnswer },
      },
    },
    async (request) =>
      subscriptionAnswer(await subscriptions.resume(consumerOf(request), request.params.subscription_id)),
  )

  app.get(
    '/v1/analysis/subscriptions/:subscription_id/runs',
    {
      config: config('analysis.subscriptions.runs', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'List the runs of an analysis subscription',
          'Empty while scheduling is not live. `next_cursor` is where a later read goes on.',
        ),
        params: ById,
        querystring: Type.Object(
          { after: Type.Optional(Type.String({ description: '`next_cursor` of the previous read.' })) },
          strict,
        ),
        response: {
          200: named(
            'SubscriptionRunPage',
            Type.Object({
              runs: Type.Array(named('SubscriptionRun', Type.Object({ run_id: Type.String() }))),
              next_cursor: Type.String(),
            }),
          ),
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
      config: config('analysis.subscriptions.checkpoint', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Get the checkpoint of an analysis subscription',
          'How far it has come. Null while scheduling is not live.',
        ),
        params: ById,
        querystring: noFields,
        response: {
          200: named(
            'SubscriptionCheckpoint',
            Type.Object({
              subscription_id: Type.String(),
              checkpoint: orNull(
                named(
                  'Checkpoint',
                  Type.Object({ sequence: Type.Integer(), run_id: Type.String(), completed_at: dateTime }),
                ),
              ),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { subscription } = await subscriptions.read(consumerOf(request), request.params.subscription_id)
      return { subscription_id: subscription.subscriptionId, checkpoint: null }
    },
  )
}

function subscriptionAnswer({ subscription, status }: SubscriptionNow): Static<typeof SubscriptionAnswer> {
  return {
    subscription_id: subscription.subscriptionId,
    name: subscription.name,
    ...answerOf(subscription),
    execution_mode: subscription.executionMode,
    interval_seconds: subscription.intervalSeconds,
    artifact_retention_days: subscription.artifactRetentionDays,
    status,
    created_at: formatTime(subscription.createdAt),
    updated_at: formatTime(subscription.updatedAt),
  }
}
