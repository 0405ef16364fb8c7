import { type Static, Type } from 'typebox'
import { IdempotencyHeaders } from '../http/make-once.ts'
import { cursorParameter } from '../http/query-parameters.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { formatTime } from '../platform/time.ts'
import { choice, dateTime, idOf, named, noFields, orNull, printablePattern, strict } from '../platform/validation.ts'
import { analysisLimits } from './limits.ts'
import { RequestParameters } from './parameters.ts'
import { RunAnswer, runAnswer } from './run-routes.ts'
import { schedule } from './schedule.ts'
import {
  about,
  analysisRoute,
  answerFields,
  answerOf,
  nextCursor,
  openCursor,
  pageParameters,
  readPage,
  requestFields,
  requestOf,
} from './shared-routes.ts'
import { executionModes, type SeenRun } from './subscription-store.ts'
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
        'Only an `active` subscription starts runs. `disabled`: analysis is off for the application, and all its requests here are 403. `reconciliation_required`: its scope, profile or parameters are no longer allowed.',
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
        description: `- \`scheduled\`: a run every \`interval_seconds\`. Missed intervals (the subscription was paused, a run was in progress, the service was down) become one run, not one each.
- \`on_change\`: a run when documents in scope were added, changed or removed and nothing more has happened for ${seconds(schedule.settledAfterMs)}, or ${seconds(schedule.waitsAtMostMs)} after the first change. Changed metrics count for types that read them (\`feature_rollup\`). After a run that did not succeed, or that had the warning \`vectors_pending\`, the next starts after ${seconds(schedule.pauseMs)}, then after twice as long each time, up to ${seconds(schedule.pauseMaxMs)}.
- \`hybrid\`: both, whichever comes first.

The first run starts at once.`,
      }),
      interval_seconds: Type.Optional(
        Type.Integer({
          minimum: analysisLimits.intervalSecondsMin,
          maximum: analysisLimits.intervalSecondsMax,
          description: 'For `scheduled` and `hybrid`, counted from the creation of the subscription. Default: a day.',
        }),
      ),
      parameters: Type.Optional(RequestParameters),
      artifact_retention_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: analysisLimits.retentionDaysMax,
          description: `How many days to keep its runs and their artifacts. Default: ${analysisLimits.retentionDaysDefault}.`,
        }),
      ),
    },
    strict,
  ),
)

const ById = Type.Object({ subscription_id: idOf('subscription') })

const scheduling = `Addition: if \`analysis.scheduling\` of the policy is true, a subscription starts runs, one at a time; otherwise it starts none. Each run covers the whole scope up to its start, with the same entitlements as a run you create; \`feed_sequence\` is its position in the change feed.

No run starts while the subscription is paused or \`reconciliation_required\`, while the application has no valid key, or while its analysis or scheduling is off; a run in progress continues. If \`max_concurrent_runs\` is reached, the run waits. Whatever was missed becomes one run. Cancelling a run does not end its subscription: pause it.`

export function analysisSubscriptionRoutes(
  app: TypedApp,
  subscriptions: AnalysisSubscriptions,
  cursors: Cursors,
): void {
  app.post(
    '/v1/analysis/subscriptions',
    {
      ...analysisRoute('analysis.subscriptions.create', invalid, 'analysis_request_failed'),
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
      const requested = {
        name: body.name,
        ...requestOf(body),
        executionMode: body.execution_mode,
        intervalSeconds: body.interval_seconds ?? null,
        parameters: body.parameters ?? null,
        artifactRetentionDays: body.artifact_retention_days ?? null,
      }
      const made = await request.makeOnce(
        (claim) => subscriptions.create(consumer, requested, claim),
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
      ...analysisRoute('analysis.subscriptions.list', invalid),
      schema: {
        ...about('List analysis subscriptions', 'Newest first, with their current status.'),
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
      ...analysisRoute('analysis.subscriptions.read', invalid, 'analysis_not_found'),
      schema: {
        ...about('Get an analysis subscription', 'The subscription with its current status.'),
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
      ...analysisRoute('analysis.subscriptions.pause', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Pause an analysis subscription',
          'Starts no further run until resumed; a run in progress continues. Pausing again changes nothing.',
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
      ...analysisRoute('analysis.subscriptions.resume', invalid, 'analysis_request_failed', 'analysis_not_found'),
      schema: {
        ...about(
          'Resume an analysis subscription',
          'Repeats the checks of creation, with the same errors. Whatever was missed while paused becomes one run. Resuming again changes nothing.',
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
      ...analysisRoute('analysis.subscriptions.runs', invalid, 'analysis_not_found', 'cursor_expired'),
      schema: {
        ...about(
          'List the runs of an analysis subscription',
          `Finished runs, whatever their result, in the order in which they finished, at most ${analysisLimits.pageDefault} at a time. Read on with \`next_cursor\` as \`after\`: you get every run exactly once. An empty list means that none has finished since. Runs in progress are in \`GET /v1/analysis/runs\`. Expired runs stay in the list for another ${analysisLimits.expiredDays} days. Always empty for applications without \`analysis.scheduling\`.`,
        ),
        params: ById,
        querystring: Type.Object({ after: cursorParameter('`next_cursor` of the previous response.') }, strict),
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
      const runs = await subscriptions.runs(consumer, subscriptionId, after === null ? null : seenRun(after))
      const last = runs.at(-1)
      const position = last === undefined ? (after ?? '') : `${last.subscription?.turn} ${last.runId}`
      return { runs: runs.map(runAnswer), next_cursor: cursors.sign(binding, position) }
    },
  )

  app.get(
    '/v1/analysis/subscriptions/:subscription_id/checkpoint',
    {
      ...analysisRoute('analysis.subscriptions.checkpoint', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Get the checkpoint of an analysis subscription',
          'What the last successful run (`run_id`) covers: every change in scope up to `sequence` of the change feed. Never moves back. Null before the first success.',
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

/**
 * Parses the position in a cursor: the number of the run within its subscription, and its id, which cursors of earlier
 * versions do not have.
 */
function seenRun(position: string): SeenRun {
  const [turn = '', runId = null] = position.split(' ')
  return { turn: Number(turn), runId }
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
