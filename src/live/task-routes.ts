import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import { optionalBody, principalOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { TaskDocumentInput } from '../ingest/document-input.ts'
import type { IngestMeasures } from '../ingest/ingest-measures.ts'
import { ingestLimits } from '../ingest/limits.ts'
import { answerDocuments, documentsBody } from '../ingest/routes.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { formatTime } from '../platform/time.ts'
import { choice, choices, dateTime, exactPattern, idOf, named, storableText, strict } from '../platform/validation.ts'
import { liveLimits as limits, resourceKinds } from './limits.ts'
import type { LeaseClaim, LiveStore } from './live-store.ts'
import { requireHeld, taskIntake } from './task-intake.ts'

const config = (operation: Operation, ...errors: ErrorCode[]) =>
  ({ operation, invalid: 'invalid_request', errors }) as const
const about = (summary: string, description: string) => ({ tags: ['Collector'], summary, description })
const ById = Type.Object({ task_id: idOf('task') })
const LeaseId = Type.Object(
  {
    lease_id: Type.Optional(
      Type.String({
        maxLength: 128,
        description:
          'The lease you hold. Send it if several processes share a collector key. Default: the latest lease of the collector.',
      }),
    ),
  },
  strict,
)
const leaseSeconds = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: limits.leaseSecondsMax,
    default: limits.leaseSecondsDefault,
    description: 'How long the lease lasts, from now.',
  }),
)
const Task = named(
  'CollectionTask',
  Type.Object({
    task_id: Type.String(),
    lease_id: Type.String({ description: 'Send it as `lease_id` in later requests.' }),
    platform: Type.String(),
    dataset_id: Type.String(),
    resource_kind: choice(resourceKinds),
    query: Type.String(),
    max_items: Type.Integer(),
    deadline_at: dateTime,
    lease_expires_at: dateTime,
  }),
)
const refusals = ['task_not_found', 'task_closed', 'task_lease_lost'] as const

/** `written` is called after documents were stored. */
export function taskRoutes(app: TypedApp, store: LiveStore, written: () => void, measures: IngestMeasures): void {
  app.post(
    '/collector/v1/tasks/lease',
    {
      config: config('collector.tasks.lease'),
      schema: {
        ...about(
          'Lease collection tasks',
          'Takes tasks that nobody is working on, oldest first. A task whose lease runs out goes back to the queue; a heartbeat extends the lease. Keep polling, even if there are no tasks: if nobody asks for a platform for 5 minutes, live queries for it are refused.',
        ),
        querystring: Type.Object({}, strict),
        body: named(
          'LeaseRequest',
          Type.Object(
            {
              platforms: Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern }), {
                minItems: 1,
                maxItems: limits.leasePlatformsMax,
                uniqueItems: true,
                description: 'The platforms you collect from.',
              }),
              resource_kinds: Type.Optional(
                choices('ResourceKind', resourceKinds, 'Only tasks of these kinds. Default: all.'),
              ),
              max: Type.Optional(
                Type.Integer({
                  minimum: 1,
                  maximum: limits.tasksMax,
                  default: limits.tasksDefault,
                  description: 'The maximum number of tasks to lease.',
                }),
              ),
              lease_seconds: leaseSeconds,
            },
            strict,
          ),
        ),
        response: { 200: named('LeaseResponse', Type.Object({ tasks: Type.Array(Task) })) },
      },
    },
    async (request) => {
      const { collectorId, datasets } = principalOf(request, 'collector')
      const { platforms, resource_kinds: kinds = null, max = limits.tasksDefault } = request.body
      const leaseMs = (request.body.lease_seconds ?? limits.leaseSecondsDefault) * 1000
      const tasks = await store.lease(
        { collectorId, datasets, platforms, resourceKinds: kinds, max, leaseMs },
        Date.now(),
      )
      return {
        tasks: tasks.map((task) => ({
          task_id: task.taskId,
          lease_id: task.leaseId,
          platform: task.platform,
          dataset_id: task.datasetId,
          resource_kind: task.resourceKind,
          query: task.query,
          max_items: task.maxItems,
          deadline_at: formatTime(task.deadlineAt),
          lease_expires_at: formatTime(task.leaseExpiresAt),
        })),
      }
    },
  )
  app.post(
    '/collector/v1/tasks/:task_id/documents',
    {
      config: { ...config('collector.tasks.documents', ...refusals), lines: true },
      bodyLimit: ingestLimits.batchBytesMax,
      schema: {
        ...about(
          'Send the documents of a task',
          'Like `POST /collector/v1/documents`; `dataset_id` and `source_platform` come from the task and can be left out. Items beyond `max_items` are refused one by one. Sending the same document again does not count twice.',
        ),
        params: ById,
        querystring: LeaseId,
        ...documentsBody('TaskIngestRequest', TaskDocumentInput),
      },
    },
    async (request, reply) => {
      const claim = claimOf(request, request.params.task_id, request.query.lease_id)
      const task = requireHeld(await store.task(claim, Date.now()))
      // Uses the lease that was checked, even if there is a newer one.
      const intake = taskIntake(store, { ...claim, leaseId: task.leaseId }, task, written)
      return answerDocuments(request, reply, { batch: intake.allOrNothing, lines: intake.oneByOne }, measures)
    },
  )
  app.post(
    '/collector/v1/tasks/:task_id/heartbeat',
    {
      config: config('collector.tasks.heartbeat', ...refusals),
      schema: {
        ...about(
          'Extend a lease (heartbeat)',
          'Extends the lease to `lease_seconds` from now, but not beyond the deadline.',
        ),
        params: ById,
        querystring: LeaseId,
        body: optionalBody(named('HeartbeatRequest', Type.Object({ lease_seconds: leaseSeconds }, strict))),
        response: {
          200: named(
            'HeartbeatResponse',
            Type.Object({
              task_id: Type.String(),
              lease_id: Type.String(),
              deadline_at: dateTime,
              lease_expires_at: dateTime,
            }),
          ),
        },
      },
    },
    async (request) => {
      const claim = claimOf(request, request.params.task_id, request.query.lease_id)
      const leaseMs = (request.body?.lease_seconds ?? limits.leaseSecondsDefault) * 1000
      const task = requireHeld(await store.heartbeat(claim, leaseMs, Date.now()))
      return {
        task_id: task.taskId,
        lease_id: task.leaseId,
        deadline_at: formatTime(task.deadlineAt),
        lease_expires_at: formatTime(task.leaseExpiresAt),
      }
    },
  )
  const text = Type.String({ minLength: 1, maxLength: limits.errorCharactersMax })
  app.post(
    '/collector/v1/tasks/:task_id/complete',
    {
      config: config('collector.tasks.complete', ...refusals),
      schema: {
        ...about(
          'Complete a task',
          'Ends the task. Repeating the same completion under the same lease gives the same response.',
        ),
        params: ById,
        querystring: LeaseId,
        body: named(
          'CompleteTaskRequest',
          Type.Object(
            {
              status: choice(['succeeded', 'failed']),
              error: Type.Optional(
                Type.Union(
                  [
                    text,
                    named(
                      'TaskError',
                      Type.Object(
                        { code: Type.Optional(Type.String({ pattern: '^[a-z0-9_]{1,64}$' })), message: text },
                        strict,
                      ),
                    ),
                  ],
                  {
                    description:
                      'Why it failed, as a string, or as a code and a message. Shown to the application that created the live query.',
                  },
                ),
              ),
            },
            strict,
          ),
        ),
        response: {
          200: named(
            'CompleteTaskResponse',
            Type.Object({
              task_id: Type.String(),
              status: choice(['succeeded', 'failed']),
              items: Type.Integer(),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { status, error: sent } = request.body
      const claim = claimOf(request, request.params.task_id, request.query.lease_id)
      const message = typeof sent === 'string' ? sent : sent?.message
      const code = typeof sent === 'object' && sent.code !== undefined ? sent.code : 'collection_failed'
      const end =
        status === 'succeeded'
          ? ({ event: 'succeed', error: null } as const)
          : ({
              event: 'fail',
              error: { code, message: storableText(message ?? 'The collector failed without giving a reason.') },
            } as const)
      const { items } = requireHeld(await store.complete(claim, end, Date.now()))
      return { task_id: claim.taskId, status, items }
    },
  )
}

function claimOf(request: FastifyRequest, taskId: string, leaseId: string | undefined): LeaseClaim {
  return { taskId, collectorId: principalOf(request, 'collector').collectorId, leaseId: leaseId ?? null }
}
