import type { Static } from 'typebox'
import type { Cursors } from '../cursors.ts'
import { IdempotencyHeaders } from '../http/make-once.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { Type } from '../schema-types.ts'
import { formatTime } from '../time.ts'
import { choice, dateTime, idOf, named, noFields, orNull, printablePattern, strict } from '../validation.ts'
import { analysisLimits } from './limits.ts'
import { RequestParameters } from './parameters.ts'
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
import { RunAnswer, runAnswer } from './run-routes.ts'
import { schedule } from './schedule.ts'
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
    parameters: Type.Optional(RequestParameters),
    artifact_retention_days: orNull(Type.Integer()),
    status: choice(subscriptionStatuses, {
      description:
        '`disabled` while the application has no analysis, `reconciliation_required` while the scope, the profile or the parameters are not allowed. Only an `active` one starts runs.',
    }),
    created_at: dateTime,
    updated_at: dateTime,
  }),
)

const seconds = (ms: number): string => `${ms / 1000} seconds`

const CreateBody = named(
  'AnalysisSubscriptionRequest',
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: analysisLimits.nameCharactersMax, pattern: printablePattern }),
      ...requestFields,
      execution_mode: choice(executionModes, {
        description: `- \`scheduled\`: a run every \`interval_seconds\`. Intervals that went by meanwhile (the subscription paused, a run under way, the service down) are one run, not one each.
- \`on_change\`: a run when documents of the scope have come or changed and the change feed has then been quiet within the scope for ${seconds(schedule.settledAfterMs)}, after ${seconds(schedule.waitsAtMostMs)} at the latest. Metrics that changed count for types that read them (\`feature_rollup\`). After a run that did not succeed, or that had the warning \`vectors_pending\`, the next is started after ${seconds(schedule.pauseMs)}, then after twice as long each time, up to ${seconds(schedule.pauseMaxMs)}.
- \`hybrid\`: both.

The first run is started at once.`,
      }),
      interval_seconds: Type.Optional(
        Type.Integer({
          minimum: analysisLimits.intervalSecondsMin,
          maximum: analysisLimits.intervalSecondsMax,
          description: 'Of `scheduled` and `hybrid`, counted from creation; a day when absent.',
        }),
      ),
      parameters: Type.Optional(RequestParameters),
      artifact_retention_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: analysisLimits.retentionDaysMax,
          description: `How long its runs and their artifacts are kept; ${analysisLimits.retentionDaysDefault} days when absent.`,
        }),
      ),
    },
    strict,
  ),
)

const ById = Type.Object({ subscription_id: idOf('subscription') })

const scheduling = `An addition: where \`analysis.scheduling\` of the policy is true, a subscription starts runs, one at a time; otherwise it starts none. A run is of everything up to its start: \`feed_sequence\` says up to where it knows the change feed, and its input is what the application may read, as of a run that it creates.

No run is started while the subscription is paused, the application has no key that works or its analysis or scheduling is off, or while the subscription is \`reconciliation_required\`; a run that is under way then goes on. When \`max_concurrent_runs\` is reached, it waits for its place. What was missed meanwhile is one run. To cancel a run is not to end its subscription: pause that.`

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
        ...about('Create an analysis subscription', scheduling),
        querystring: noFields,
        headers: IdempotencyHeaders,
        body: CreateBody,
        response: { 201: SubscriptionAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const consumer = consumerOf(request)
      const asked = {
        name: body.name,
        ...requestOf(body),
        executionMode: body.execution_mode,
        intervalSeconds: body.interval_seconds ?? null,
        parameters: body.parameters ?? null,
        artifactRetentionDays: body.artifact_retention_days ?? null,
      }
      const made = await request.makeOnce(
        (claim) => subscriptions.create(consumer, asked, claim),
        (subscriptionId) => subscriptions.read(consumer, subscriptionId),
      )
      return reply
        .status(201)
        .header('location', `/v1/analysis/subscriptions/${made.subscription.subscriptionId}`)
        .send(subscriptionAnswer(made))
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

  app.get(
    '/v1/analysis/subscriptions/:subscription_id',
    {
      config: config('analysis.subscriptions.read', invalid, 'analysis_not_found'),
      schema: {
        ...about('Get an analysis subscription', 'With the status that it has now.'),
        params: ById,
        querystring: noFields,
        response: { 200: SubscriptionAnswer },
      },
    },
    async (request) =>
      subscriptionAnswer(await subscriptions.read(consumerOf(request), request.params.subscription_id)),
  )

  app.post(
    '/v1/analysis/subscriptions/:subscription_id/pause',
    {
      config: config('analysis.subscriptions.pause', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Pause an analysis subscription',
          'It starts no run until it is resumed; one that is under way goes on. Again changes nothing.',
        ),
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
          'Tests again what creation tests, with the same errors. What it missed while it was paused is one run. Again changes nothing.',
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
          `Those that have ended, whichever way, in the order in which they did, ${analysisLimits.pageDefault} at the most: each once, none left out, however often it is read with \`after\`. \`next_cursor\` is where a later read goes on; nothing has ended since when \`runs\` is empty. A run that is under way is in \`GET /v1/analysis/runs\`. Expired runs are listed for another ${analysisLimits.expiredDays} days. Empty for applications without \`analysis.scheduling\`.`,
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
              runs: Type.Array(RunAnswer),
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
      const runs = await subscriptions.runs(consumer, subscriptionId, Number(after ?? ''))
      const position = runs.at(-1)?.subscription?.turn ?? after ?? ''
      return { runs: runs.map(runAnswer), next_cursor: cursors.sign(binding, String(position)) }
    },
  )

  app.get(
    '/v1/analysis/subscriptions/:subscription_id/checkpoint',
    {
      config: config('analysis.subscriptions.checkpoint', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Get the checkpoint of an analysis subscription',
          'What its last run that succeeded covers: everything that the change feed tells of up to `sequence`, as far as it belongs to the scope. Moved together with the success of `run_id`, never back. Null before the first.',
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
      const { subscriptionId, checkpoint } = subscription
      return {
        subscription_id: subscriptionId,
        checkpoint: checkpoint && {
          sequence: checkpoint.sequence,
          run_id: checkpoint.runId,
          completed_at: formatTime(checkpoint.completedAt),
        },
      }
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
    ...(subscription.parameters === null ? {} : { parameters: subscription.parameters }),
    artifact_retention_days: subscription.artifactRetentionDays,
    status,
    created_at: formatTime(subscription.createdAt),
    updated_at: formatTime(subscription.updatedAt),
  }
}
