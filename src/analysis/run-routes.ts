import type { Static } from 'typebox'
import { policyDefaults } from '../access/policy-defaults.ts'
import type { Cursors } from '../cursors.ts'
import { IdempotencyHeaders } from '../http/make-once.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { Type } from '../schema-types.ts'
import { formatOptionalTime, formatTime, parseOptionalTime } from '../time.ts'
import { choice, dateTime, idOf, named, noFields, orNull, strict } from '../validation.ts'
import { algorithmEntries } from './algorithms.ts'
import { type Run, runErrorCodes, runWarnings } from './analysis-store.ts'
import { analysisLimits } from './limits.ts'
import { AnsweredParameters, RequestParameters } from './parameters.ts'
import {
  about,
  answerFields,
  answerOf,
  config,
  nextCursor,
  pageParameters,
  readPage,
  requestFields,
  requestOf,
} from './route-frame.ts'
import { runStatuses } from './run-states.ts'
import type { AnalysisRuns } from './runs.ts'

const invalid = 'invalid_analysis_request'

export const RunAnswer = named(
  'AnalysisRun',
  Type.Object({
    run_id: Type.String(),
    subscription_id: orNull(Type.String(), {
      description: 'The subscription that started it; null of a run that was created.',
    }),
    feed_sequence: orNull(Type.Integer(), {
      description:
        'Of a run of a subscription: everything that the change feed tells of up to this sequence is in its input, as far as it belongs there.',
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
            description: 'Chunks that the run is computed on; 0 of `feature_rollup`, which is computed on documents.',
          }),
          documents: Type.Integer({ description: 'The documents that these are of, or that it is computed on.' }),
          without_vector: Type.Integer({
            description: 'Chunks of the same scope that are left out, because they have no vector of the profile.',
          }),
        }),
      ),
      { description: 'Null until the input is selected.' },
    ),
    warnings: Type.Array(named('AnalysisWarning', Type.Object({ code: choice(runWarnings) })), {
      description:
        '- `vectors_pending`: vectors of the scope were still to be made when the input was selected; a run that is created later is computed on more.\n' +
        '- `history_lost`: of a `clustering` of a subscription: what the run before had found has expired, or its file is lost or damaged, so that every cluster counts as `new` and has another id than before.',
    }),
    error: Type.Optional(
      named(
        'AnalysisError',
        Type.Object(
          { code: choice(runErrorCodes), message: Type.String() },
          { description: 'Only of a failed run: what to change.' },
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
          description: 'What came in later is left out. The time of creation when absent; never in the future.',
        }),
      ),
      retention_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: analysisLimits.retentionDaysMax,
          default: analysisLimits.retentionDaysDefault,
          description: 'How long run and artifacts are kept, from creation.',
        }),
      ),
    },
    strict,
  ),
)

export const RunById = Type.Object({ run_id: idOf('run') })
const computed = algorithmEntries.map(([type, { description }]) => `\`${type}\` computes: ${description}.`).join(' ')

export function analysisRunRoutes(app: TypedApp, runs: AnalysisRuns, cursors: Cursors): void {
  app.post(
    '/v1/analysis/runs',
    {
      config: config('analysis.runs.create', invalid, 'analysis_request_failed', 'analysis_forbidden'),
      schema: {
        ...about(
          'Create an analysis run',
          'Answers at once with the run `queued`; poll it, every 5 seconds at first and then less often. ' +
            `${computed} ` +
            'The input is what the application may read both now and when the run is executed: current chunks as of ' +
            `\`input_cutoff_at\` with a vector of the profile, ${policyDefaults.analysisInputChunks} at the most unless the policy says otherwise. That needs \`body\`, because vectors are made from it. The input of \`feature_rollup\` is documents, and needs the permission of each field that it names.`,
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
      const asked = {
        ...requestOf(body),
        parameters: body.parameters ?? {},
        inputCutoffAt: parseOptionalTime(body.input_cutoff_at),
        retentionDays: body.retention_days ?? analysisLimits.retentionDaysDefault,
      }
      const run = await request.makeOnce(
        (claim) => runs.create(consumer, asked, claim),
        (runId) => runs.read(consumer, runId),
      )
      return reply.status(202).header('location', `/v1/analysis/runs/${run.runId}`).send(runAnswer(run))
    },
  )

  app.get(
    '/v1/analysis/runs',
    {
      config: config('analysis.runs.list', invalid),
      schema: {
        ...about('List analysis runs', 'Newest first. Expired runs are listed for another 30 days.'),
        querystring: Type.Object(
          {
            ...pageParameters,
            status: Type.Optional(choice(runStatuses, { description: 'Runs in this state alone.' })),
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
      config: config('analysis.runs.read', invalid, 'analysis_not_found'),
      schema: {
        ...about(
          'Get an analysis run',
          'A run of another application is 404 `analysis_not_found`, like one that does not exist.',
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
      config: config('analysis.runs.cancel', invalid, 'analysis_not_found', 'analysis_run_finished'),
      schema: {
        ...about(
          'Cancel an analysis run',
          'It stops within 2 seconds and leaves no artifact. Again on a cancelled run changes nothing; a run that finished otherwise is 409 `analysis_run_finished`.',
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
