import { type Static, Type } from 'typebox'
import { policyDefaults } from '../access/policy-defaults.ts'
import { IdempotencyHeaders } from '../http/make-once.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { formatOptionalTime, formatTime, parseOptionalTime } from '../platform/time.ts'
import { choice, dateTime, idOf, named, noFields, orNull, strict } from '../platform/validation.ts'
import { algorithmEntries } from './algorithms.ts'
import { type Run, runErrorCodes, runWarnings } from './analysis-store.ts'
import { analysisLimits } from './limits.ts'
import { AnsweredParameters, RequestParameters } from './parameters.ts'
import { runStatuses } from './run-states.ts'
import type { AnalysisRuns } from './runs.ts'
import {
  about,
  analysisRoute,
  answerFields,
  answerOf,
  nextCursor,
  pageParameters,
  readPage,
  requestFields,
  requestOf,
} from './shared-routes.ts'

const invalid = 'invalid_analysis_request'

export const RunAnswer = named(
  'AnalysisRun',
  Type.Object({
    run_id: Type.String(),
    subscription_id: orNull(Type.String(), {
      description: 'The subscription that started the run. Null if it was created by a request.',
    }),
    feed_sequence: orNull(Type.Integer(), {
      description:
        'For runs of a subscription: the input includes every change in scope up to this sequence of the change feed.',
    }),
    ...answerFields,
    parameters: AnsweredParameters,
    input_cutoff_at: dateTime,
    retention_days: Type.Integer(),
    status: choice(runStatuses),
    progress: Type.Number({ description: 'How much of the computation is done, from 0 to 1.' }),
    created_at: dateTime,
    started_at: orNull(dateTime),
    completed_at: orNull(dateTime),
    expires_at: dateTime,
    input: orNull(
      named(
        'AnalysisInput',
        Type.Object({
          chunks: Type.Integer({
            description: 'The number of chunks in the input; 0 for `feature_rollup`, which works on documents.',
          }),
          documents: Type.Integer({ description: 'The number of documents in the input.' }),
          without_vector: Type.Integer({
            description: 'Chunks in scope that were left out because they have no vector of the profile yet.',
          }),
        }),
      ),
      { description: 'What the run works on. Null until the input has been selected.' },
    ),
    warnings: Type.Array(named('AnalysisWarning', Type.Object({ code: choice(runWarnings) })), {
      description:
        '- `vectors_pending`: some chunks in scope had no vector yet when the input was selected; a later run covers more.\n' +
        '- `history_lost`: for `clustering` in a subscription, the result of the previous run has expired or its file is lost or damaged, so every cluster is `new` and gets a new ID.',
    }),
    error: Type.Optional(
      named(
        'AnalysisError',
        Type.Object(
          { code: choice(runErrorCodes), message: Type.String() },
          { description: 'Only for failed runs: what went wrong and what to change.' },
        ),
      ),
    ),
  }),
)

const CreateBody = named(
  'AnalysisRunRequest',
  Type.Object(
    {
      ...requestFields,
      parameters: Type.Optional(RequestParameters),
      input_cutoff_at: Type.Optional(
        Type.String({
          format: 'date-time',
          description:
            'Leave out what was ingested later. Default: the creation time of the run. A time in the future means the same, if it is ' +
            `at most ${analysisLimits.clockAheadSecondsMax} seconds ahead of the server; a later one is refused.`,
        }),
      ),
      retention_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: analysisLimits.retentionDaysMax,
          default: analysisLimits.retentionDaysDefault,
          description: 'How many days to keep the run and its artifacts, from creation.',
        }),
      ),
    },
    strict,
  ),
)

export const RunById = Type.Object({ run_id: idOf('run') })
const computed = algorithmEntries.map(([type, { description }]) => `- \`${type}\`: ${description}.`).join('\n')

export function analysisRunRoutes(app: TypedApp, runs: AnalysisRuns, cursors: Cursors): void {
  app.post(
    '/v1/analysis/runs',
    {
      ...analysisRoute('analysis.runs.create', invalid, 'analysis_request_failed'),
      schema: {
        ...about(
          'Create an analysis run',
          'Returns at once with status `queued`. Poll the run, every 5 seconds at first and then less often.\n\n' +
            `${computed}\n\n` +
            'The input is what the application may read both now and when the run executes: current chunks as of ' +
            `\`input_cutoff_at\` that have a vector of the profile, at most ${policyDefaults.analysisInputChunks} unless the policy says otherwise. This needs \`body\`, because vectors are computed from it. \`feature_rollup\` works on documents, and needs the permission for each field in \`by\`.`,
        ),
        querystring: noFields,
        headers: IdempotencyHeaders,
        body: CreateBody,
        response: { 202: RunAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const consumer = consumerOf(request)
      const requested = {
        ...requestOf(body),
        parameters: body.parameters ?? {},
        inputCutoffAt: parseOptionalTime(body.input_cutoff_at),
        retentionDays: body.retention_days ?? analysisLimits.retentionDaysDefault,
      }
      const run = await request.makeOnce(
        (claim) => runs.create(consumer, requested, claim),
        (runId) => runs.read(consumer, runId),
      )
      return reply.status(202).header('location', `/v1/analysis/runs/${run.runId}`).send(runAnswer(run))
    },
  )

  app.get(
    '/v1/analysis/runs',
    {
      ...analysisRoute('analysis.runs.list', invalid),
      schema: {
        ...about('List analysis runs', 'Newest first. Expired runs stay in the list for another 30 days.'),
        querystring: Type.Object(
          {
            ...pageParameters,
            status: Type.Optional(choice(runStatuses, { description: 'Only runs with this status.' })),
          },
          strict,
        ),
        response: {
          200: named('AnalysisRunPage', Type.Object({ runs: Type.Array(RunAnswer), next_cursor: nextCursor })),
        },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { applicationId } = consumer
      const { status = null, ...query } = request.query
      const { items, next } = await readPage(
        { cursors, list: 'analysis.runs', applicationId, conditions: [status], query, invalid },
        (range) => runs.list(consumer, { status, ...range }),
        ({ runId }) => runId,
      )
      return { runs: items.map(runAnswer), ...next }
    },
  )

  app.get(
    '/v1/analysis/runs/:run_id',
    {
      ...analysisRoute('analysis.runs.read', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Get an analysis run',
          'Its status, input and, if it failed, the error. A run of another application is 404 `analysis_not_found`.',
        ),
        params: RunById,
        querystring: noFields,
        response: { 200: RunAnswer },
      },
    },
    async (request) => runAnswer(await runs.read(consumerOf(request), request.params.run_id)),
  )

  app.post(
    '/v1/analysis/runs/:run_id/cancel',
    {
      ...analysisRoute('analysis.runs.cancel', invalid, 'analysis_not_found', 'analysis_run_finished'),
      schema: {
        ...about(
          'Cancel an analysis run',
          'The run stops within 2 seconds and leaves no artifacts. Cancelling again changes nothing; a run that has finished otherwise is 409 `analysis_run_finished`.',
        ),
        params: RunById,
        querystring: noFields,
        response: { 200: RunAnswer },
      },
    },
    async (request) => runAnswer(await runs.cancel(consumerOf(request), request.params.run_id)),
  )
}

export function runAnswer(run: Run): Static<typeof RunAnswer> {
  return {
    run_id: run.runId,
    subscription_id: run.subscription?.subscriptionId ?? null,
    feed_sequence: run.subscription?.feedSequence ?? null,
    ...answerOf(run),
    parameters: run.parameters,
    input_cutoff_at: formatTime(run.inputCutoffAt),
    retention_days: run.retentionDays,
    status: run.status,
    progress: run.progress,
    created_at: formatTime(run.createdAt),
    started_at: formatOptionalTime(run.startedAt),
    completed_at: formatOptionalTime(run.completedAt),
    expires_at: formatTime(run.expiresAt),
    input: run.input && {
      chunks: run.input.chunks,
      documents: run.input.documents,
      without_vector: run.input.withoutVector,
    },
    warnings: run.warnings.map((code) => ({ code })),
    ...(run.status === 'failed' && run.error !== null ? { error: run.error } : {}),
  }
}
