import { type Static, Type } from 'typebox'
import { analysisTypes } from '../access/analysis-types.ts'
import { nextBefore, pageOf, QueueNewestFirst } from '../http/newest-first.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import { choice, dateTime, named, orNull } from '../platform/validation.ts'
import type { AnalysisStore, QueuedRun } from './analysis-store.ts'
import { runStatuses } from './run-states.ts'

const QueuedRunAnswer = named(
  'QueuedRun',
  Type.Object({
    run_id: Type.String(),
    application_id: Type.String(),
    analysis_type: choice(analysisTypes),
    subscription_id: orNull(Type.String()),
    status: choice(runStatuses),
    progress: Type.Number({ description: 'How much of the computation is done, from 0 to 1.' }),
    attempts: Type.Integer({ description: 'How many times a worker has started it.' }),
    created_at: dateTime,
    started_at: orNull(dateTime),
    completed_at: orNull(dateTime),
    expires_at: dateTime,
    error: orNull(named('QueuedRunError', Type.Object({ code: Type.String(), message: Type.String() }))),
  }),
)

/** A run counts as expired from its expiry time on, whether or not retention has run. */
const answerOf = (run: QueuedRun, now: number): Static<typeof QueuedRunAnswer> => ({
  run_id: run.runId,
  application_id: run.applicationId,
  analysis_type: run.analysisType,
  subscription_id: run.subscription?.subscriptionId ?? null,
  status: now >= run.expiresAt ? 'expired' : run.status,
  progress: run.progress,
  attempts: run.attempts,
  created_at: formatTime(run.createdAt),
  started_at: formatOptionalTime(run.startedAt),
  completed_at: formatOptionalTime(run.completedAt),
  expires_at: formatTime(run.expiresAt),
  error: run.error,
})

/** The runs of all applications for operators, without their inputs. */
export function runQueueRoutes(app: TypedApp, store: Pick<AnalysisStore, 'runQueue'>): void {
  app.get(
    '/admin/v1/analysis/runs',
    {
      config: { operation: 'admin.runs.list', invalid: 'invalid_request', role: 'viewer' },
      schema: {
        tags: ['Admin'],
        summary: 'List the analysis runs of all applications',
        description:
          'Addition: newest first. With `unfinished`, only queued, validating and running ones. Workers serve applications round robin, the oldest run of each first.',
        querystring: QueueNewestFirst,
        response: {
          200: named(
            'RunQueuePage',
            Type.Object({ runs: Type.Array(QueuedRunAnswer), next_before: orNull(Type.String()) }),
          ),
        },
      },
    },
    async (request) => {
      const { unfinished = false } = request.query
      const page = pageOf('run', request.query)
      const now = Date.now()
      const found = await store.runQueue({ unfinished, ...page, now })
      return {
        runs: found.map((run) => answerOf(run, now)),
        next_before: nextBefore(found, page.limit, (run) => run.runId),
      }
    },
  )
}
