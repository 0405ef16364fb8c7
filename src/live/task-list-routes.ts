import { type Static, Type } from 'typebox'
import { nextBefore, pageOf, QueueNewestFirst } from '../http/newest-first.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import { choice, dateTime, named, orNull } from '../platform/validation.ts'
import { resourceKinds } from './limits.ts'
import type { ListedTask, LiveStore } from './live-store.ts'
import { runStates } from './states.ts'

const ListedTaskAnswer = named(
  'ListedTask',
  Type.Object({
    task_id: Type.String(),
    live_query_id: Type.String(),
    application_id: Type.String(),
    dataset_id: Type.String(),
    platform: Type.String(),
    resource_kind: choice(resourceKinds),
    query: Type.String(),
    status: choice(runStates),
    items: Type.Integer({ description: 'The number of documents collected so far.' }),
    max_items: Type.Integer(),
    collector_id: orNull(Type.String(), { description: 'The collector working on it, or the last one that did.' }),
    lease_expires_at: orNull(dateTime),
    created_at: dateTime,
    deadline_at: dateTime,
    error: orNull(named('ListedTaskError', Type.Object({ code: Type.String(), message: Type.String() }))),
  }),
)

const answerOf = (task: ListedTask): Static<typeof ListedTaskAnswer> => ({
  task_id: task.taskId,
  live_query_id: task.liveQueryId,
  application_id: task.applicationId,
  dataset_id: task.datasetId,
  platform: task.platform,
  resource_kind: task.resourceKind,
  query: task.query,
  status: task.status,
  items: task.items,
  max_items: task.maxItems,
  collector_id: task.collectorId,
  lease_expires_at: formatOptionalTime(task.leaseExpiresAt),
  created_at: formatTime(task.createdAt),
  deadline_at: formatTime(task.deadlineAt),
  error: task.error,
})

/** The tasks of all live queries, for operators. */
export function taskListRoutes(app: TypedApp, store: Pick<LiveStore, 'tasks'>): void {
  app.get(
    '/admin/v1/live/tasks',
    {
      config: { operation: 'admin.tasks.list', invalid: 'invalid_request', role: 'viewer' },
      schema: {
        tags: ['Admin'],
        summary: 'List the tasks of live queries',
        description:
          'Addition: the tasks of all applications and collectors, newest first. With `unfinished`, only those waiting for a collector or in progress.',
        querystring: QueueNewestFirst,
        response: {
          200: named(
            'TaskListPage',
            Type.Object({ tasks: Type.Array(ListedTaskAnswer), next_before: orNull(Type.String()) }),
          ),
        },
      },
    },
    async (request) => {
      const { unfinished = false } = request.query
      const page = pageOf('task', request.query)
      const found = await store.tasks({ unfinished, ...page }, Date.now())
      return { tasks: found.map(answerOf), next_before: nextBefore(found, page.limit, (task) => task.taskId) }
    },
  )
}
