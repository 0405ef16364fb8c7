import { type Static, Type } from 'typebox'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import { choice, dateTime, named, orNull } from '../platform/validation.ts'
import { resourceKinds } from './limits.ts'
import { statusOf } from './live-queries.ts'
import type { LiveQuery as StoredLiveQuery } from './live-store.ts'
import { queryStates, runStates } from './states.ts'

/** A live query as the API shows it. */
export const LiveQuery = named(
  'LiveQuery',
  Type.Object({
    id: Type.String(),
    status: choice(queryStates, {
      description:
        '`pending`: no run has started yet; `running`: at least one has; `completed`: all runs succeeded; `partial`: some did; `failed`: none did.',
    }),
    resource_kind: choice(resourceKinds),
    created_at: dateTime,
    deadline_at: Type.String({ format: 'date-time', description: 'Runs not finished by then become `timed_out`.' }),
    completed_at: orNull(dateTime),
    runs: Type.Array(
      named(
        'LiveQueryRun',
        Type.Object({
          id: Type.String(),
          platform: Type.String(),
          status: choice(runStates),
          collection_task_id: Type.String(),
          items: Type.Integer({ description: 'The number of documents collected so far.' }),
          error: orNull(named('LiveQueryRunError', Type.Object({ code: Type.String(), message: Type.String() }))),
        }),
      ),
      { description: 'One run per platform.' },
    ),
  }),
)

export function liveQueryAnswer(liveQuery: StoredLiveQuery): Static<typeof LiveQuery> {
  return {
    id: liveQuery.liveQueryId,
    status: statusOf(liveQuery),
    resource_kind: liveQuery.resourceKind,
    created_at: formatTime(liveQuery.createdAt),
    deadline_at: formatTime(liveQuery.deadlineAt),
    completed_at: formatOptionalTime(liveQuery.completedAt),
    runs: liveQuery.runs.map((run) => ({
      id: run.runId,
      platform: run.platform,
      status: run.status,
      collection_task_id: run.taskId,
      items: run.items,
      error: run.error === null ? null : { code: run.error.code, message: run.error.message },
    })),
  }
}
