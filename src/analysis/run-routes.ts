import { type Static, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import { policyDefaults } from '../access/policy.ts'
import type { Cursors } from '../cursors.ts'
import { consumerOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { formatOptionalTime, formatTime, parseTime } from '../time.ts'
import { choice, exact } from '../validation.ts'
import { analysisTypes, type Run, runErrorCodes, runWarnings } from './analysis-store.ts'
import { InputScope } from './input-scope.ts'
import { analysisLimits } from './limits.ts'
import { openCursor, pageOf, pageParameters } from './page-routes.ts'
import { runStatuses } from './run-states.ts'
import type { AnalysisRuns } from './runs.ts'

const invalid = 'invalid_analysis_request'
const time = Type.String({ format: 'date-time' })
const optionalTime = Type.Union([time, Type.Null()])

const RunAnswer = Type.Object({
  run_id: Type.String(),
  analysis_type: choice(analysisTypes),
  embedding_profile_id: Type.Union([Type.String(), Type.Null()]),
  input_scope: InputScope,
  parameters: Type.Union([
    Type.Object({ k: Type.Integer(), min_similarity: Type.Union([Type.Number(), Type.Null()]) }),
    Type.Null(),
  ]),
  input_cutoff_at: time,
  retention_days: Type.Integer(),
  status: choice(runStatuses),
  progress: Type.Number({ description: 'How much of the computation is done, from 0 to 1.' }),
  created_at: time,
  started_at: optionalTime,
  completed_at: optionalTime,
  expires_at: time,
  input: Type.Union(
    [
      Type.Object({
        chunks: Type.Integer({ description: 'Chunks that the run is computed on.' }),
        documents: Type.Integer({ description: 'The documents that these are of.' }),
        without_vector: Type.Integer({
          description: 'Chunks of the same scope that are left out, because they have no vector of the profile.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'Null until the input is selected.' },
  ),
  warnings: Type.Array(Type.Object({ code: choice(runWarnings) }), {
    description:
      '- `vectors_pending`: vectors of the scope were still to be made when the input was selected; a run that is created later is computed on more.',
  }),
  error: Type.Optional(
    Type.Object(
      { code: choice(runErrorCodes), message: Type.String() },
      { description: 'Only of a failed run: what to change.' },
    ),
  ),
})

const CreateBody = Type.Object(
  {
    analysis_type: choice(analysisTypes, { description: 'Only `knn_graph` is executed; the others end `failed`.' }),
    embedding_profile_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: exact,
        description: 'An active embedding profile. Required for every type but `feature_rollup`.',
      }),
    ),
    input_scope: InputScope,
    parameters: Type.Optional(
      Type.Object(
        {
          k: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: analysisLimits.kMax,
              default: analysisLimits.kDefault,
              description: 'Neighbours of each node, at the most.',
            }),
          ),
          min_similarity: Type.Optional(
            Type.Number({ minimum: -1, maximum: 1, description: 'Least cosine similarity of an edge.' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
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
  { additionalProperties: false },
)

export const RunById = Type.Object({ run_id: Type.String({ minLength: 1, maxLength: 128 }) })
export const nothing = Type.Object({}, { additionalProperties: false })
const config = (operation: Operation) => ({ surface: 'consumer', operation, invalid }) as const
const about = (summary: string, description: string) => ({ tags: ['Analysis'], summary, description })

export function analysisRunRoutes(app: TypedApp, runs: AnalysisRuns, cursors: Cursors): void {
  app.post(
    '/v1/analysis/runs',
    {
      config: config('analysis.runs.create'),
      schema: {
        ...about(
          'Create a run',
          'Answers at once with the run `queued`; poll it, every 5 seconds at first and then less often. `knn_graph` computes, for every chunk of the input, ' +
            'the exact cosine top-K among the chunks of the input. The input is what the application may read both now and when the run is executed: current chunks as of ' +
            `\`input_cutoff_at\` with a vector of the profile, ${policyDefaults.analysisInputChunks} at the most unless the policy says otherwise. Needs \`body\`, because vectors are made from it.`,
        ),
        querystring: nothing,
        body: CreateBody,
        response: { 202: RunAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request
      const run = await runs.create(consumerOf(request), {
        analysisType: body.analysis_type,
        embeddingProfileId: body.embedding_profile_id ?? null,
        inputScope: body.input_scope,
        k: body.parameters?.k ?? analysisLimits.kDefault,
        minSimilarity: body.parameters?.min_similarity ?? null,
        inputCutoffAt: body.input_cutoff_at === undefined ? null : parseTime(body.input_cutoff_at),
        retentionDays: body.retention_days ?? analysisLimits.retentionDaysDefault,
      })
      return reply.status(202).header('location', `/v1/analysis/runs/${run.runId}`).send(runAnswer(run))
    },
  )

  app.get(
    '/v1/analysis/runs',
    {
      config: config('analysis.runs.list'),
      schema: {
        ...about('The runs of the application, newest first', 'Expired runs are listed for another 30 days.'),
        querystring: Type.Object(
          { ...pageParameters, status: Type.Optional(choice(runStatuses)) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ runs: Type.Array(RunAnswer), next_cursor: Type.Optional(Type.String()) }) },
      },
    },
    async (request) => {
      const consumer = consumerOf(request)
      const { limit = analysisLimits.pageDefault, cursor, status = null } = request.query
      const binding = ['analysis.runs', consumer.applicationId, limit, status]
      const before = await openCursor(cursors, { path: 'cursor', cursor }, binding, invalid)
      const found = await runs.list(consumer, { status, before, limit: limit + 1 })
      const { items, next } = pageOf(found, limit, ({ runId }) => cursors.sign(binding, runId))
      return { runs: items.map(runAnswer), ...next }
    },
  )

  app.get(
    '/v1/analysis/runs/:run_id',
    {
      config: config('analysis.runs.read'),
      schema: {
        ...about('One run', 'A run of another application is 404 `analysis_not_found`, like one that does not exist.'),
        params: RunById,
        querystring: nothing,
        response: { 200: RunAnswer },
      },
    },
    async (request) => runAnswer(await runs.read(consumerOf(request), request.params.run_id)),
  )

  app.post(
    '/v1/analysis/runs/:run_id/cancel',
    {
      config: config('analysis.runs.cancel'),
      schema: {
        ...about(
          'Cancel a run',
          'It stops within 2 seconds and leaves no artifact. Again on a cancelled run changes nothing; a run that finished otherwise is 409 `analysis_run_finished`.',
        ),
        params: RunById,
        querystring: nothing,
        response: { 200: RunAnswer },
      },
    },
    async (request) => runAnswer(await runs.cancel(consumerOf(request), request.params.run_id)),
  )
}

function runAnswer(run: Run): Static<typeof RunAnswer> {
  return {
    run_id: run.runId,
    analysis_type: run.analysisType,
    embedding_profile_id: run.embeddingProfileId,
    input_scope: run.inputScope,
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
