import type { Kysely, Updateable } from 'kysely'
import type { IncomingDocument, IngestResult } from '../../ingest/content-store.ts'
import type { ResourceKind } from '../../live/limits.ts'
import type { HeldTask, IfHeld, LeaseClaim, LeasedTask, LiveStore } from '../../live/live-store.ts'
import { deadlineExceeded, isOver, nextState, type RunEvent, type RunState, stateAt } from '../../live/states.ts'
import { newId } from '../../platform/ids.ts'
import { sqlContentStore } from './content-store.ts'
import { countByStatus } from './count-by-status.ts'
import { insertRows } from './insert-rows.ts'
import type { LiveRunRow, Tables } from './tables.ts'

/** A collector's poll is recorded at most this often, so that a poll without a task rarely costs a disk write. */
const pollRecordedEveryMs = 20_000

type TaskMethods = 'tasks' | 'lease' | 'task' | 'heartbeat' | 'deliver' | 'complete' | 'openTasks' | 'dueAt' | 'settle'

type RunWithQuery = LiveRunRow & {
  dataset_id: string
  resource_kind: string
  query: string
  max_items: number
  deadline_at: number
}

/**
 * The task side of live queries. Every change of a run is a compare-and-set of its state, lease and item count. If two
 * processes race for one step, exactly one succeeds, whatever the database locks.
 */
export function liveTasks(db: Kysely<Tables>): Pick<LiveStore, TaskMethods> {
  return {
    async tasks({ unfinished, before, limit }, nowMs) {
      let query = runsWithQuery(db)
        .select(['live_query.application_id', 'live_query.created_at'])
        .orderBy('live_run.task_id', 'desc')
        .limit(limit)
      if (unfinished) {
        query = query.where('live_run.status', 'in', ['pending', 'running']).where('live_query.deadline_at', '>', nowMs)
      }
      if (before !== null) query = query.where('live_run.task_id', '<', before)
      return (await query.execute()).map((run) => ({
        taskId: run.task_id,
        liveQueryId: run.live_query_id,
        applicationId: run.application_id,
        datasetId: run.dataset_id,
        platform: run.platform,
        resourceKind: run.resource_kind as ResourceKind,
        query: run.query,
        status: stateOf(run, nowMs),
        items: run.items,
        maxItems: run.max_items,
        collectorId: run.collector_id,
        leaseExpiresAt: run.lease_expires_at,
        createdAt: run.created_at,
        deadlineAt: run.deadline_at,
        error: run.error_code === null ? null : { code: run.error_code, message: run.error_message ?? '' },
      }))
    },

    async lease(request, nowMs) {
      await recordPoll(db, request.collectorId, request.platforms, request.resourceKinds ?? [''], nowMs)
      let query = runsWithQuery(db)
        .where('live_run.platform', 'in', request.platforms)
        .where('live_run.status', 'in', ['pending', 'running'])
        .where('live_query.deadline_at', '>', nowMs)
        .where(({ or, eb }) =>
          or([eb('live_run.status', '=', 'pending'), eb('live_run.lease_expires_at', '<=', nowMs)]),
        )
        .orderBy('live_run.task_id')
        .limit(request.max)
      if (request.datasets !== null) query = query.where('live_query.dataset_id', 'in', request.datasets)
      if (request.resourceKinds !== null) query = query.where('live_query.resource_kind', 'in', request.resourceKinds)
      const tasks: LeasedTask[] = []
      for (const run of await query.execute()) {
        const lease = {
          lease_id: newId('lease', nowMs),
          collector_id: request.collectorId,
          lease_expires_at: Math.min(nowMs + request.leaseMs, run.deadline_at),
        }
        if (!(await step(db, run, nowMs, 'lease', lease))) continue
        tasks.push({
          ...heldTask({ ...run, ...lease }),
          resourceKind: run.resource_kind as ResourceKind,
          query: run.query,
          maxItems: run.max_items,
        })
      }
      return tasks
    },

    async task(claim, nowMs) {
      const run = await heldRun(db, claim, nowMs)
      return typeof run === 'string' ? { held: false, why: run } : { held: true, value: heldTask(run) }
    },

    async heartbeat(claim, leaseMs, nowMs) {
      const run = await heldRun(db, claim, nowMs)
      if (typeof run === 'string') return { held: false, why: run }
      const lease_expires_at = Math.min(nowMs + leaseMs, run.deadline_at)
      if (!(await step(db, run, nowMs, 'heartbeat', { lease_expires_at }))) return leaseLost
      return { held: true, value: heldTask({ ...run, lease_expires_at }) }
    },

    async deliver(claim, documents, nowMs) {
      const run = await heldRun(db, claim, nowMs)
      if (typeof run === 'string') return { held: false, why: run }
      const { results, fresh } = await ingestItems(db, run, documents, nowMs)
      // Rolls back the whole transaction if the step fails.
      if (!(await step(db, run, nowMs, 'deliver', { items: run.items + fresh.length }))) throw new Error('lease lost')
      await insertRows(
        db,
        'live_item',
        fresh.map(([external_id, document_id], i) => ({
          run_id: run.run_id,
          position: run.items + i,
          external_id,
          document_id,
        })),
      )
      return { held: true, value: results }
    },

    async complete(claim, end, nowMs) {
      const run = await heldRun(db, claim, nowMs)
      if (typeof run === 'string') return (await repeatedEnd(db, claim, end.event)) ?? { held: false, why: run }
      const error = { error_code: end.error?.code ?? null, error_message: end.error?.message ?? null }
      if (!(await step(db, run, nowMs, end.event, error))) return leaseLost
      await closeQuery(db, run.live_query_id, nowMs)
      return { held: true, value: { items: run.items } }
    },

    openTasks: (countedMax) => countByStatus(db, 'live_run', ['pending', 'running'], countedMax),

    async dueAt() {
      const { deadline, lease } = await joinedRuns(db)
        .where('live_run.status', 'in', ['pending', 'running'])
        .select(({ fn }) => [
          fn.min('live_query.deadline_at').as('deadline'),
          fn.min('live_run.lease_expires_at').as('lease'),
        ])
        .executeTakeFirstOrThrow()
      return deadline === null ? null : Math.min(deadline, lease ?? Infinity)
    },

    async settle(nowMs, most) {
      let changed = 0
      for (const run of await dueRuns(db, nowMs, most)) {
        if (nowMs < run.deadline_at) {
          if (run.status === 'running' && (await step(db, run, nowMs, 'lapse', noLease))) changed++
        } else if (await step(db, run, nowMs, 'deadline', deadlineError)) {
          await closeQuery(db, run.live_query_id, run.deadline_at)
          changed++
        }
      }
      return changed
    },
  }
}

const leaseLost = { held: false, why: 'lease_lost' } as const
const noLease = { lease_id: null, collector_id: null, lease_expires_at: null } as const
const deadlineError = { error_code: deadlineExceeded.code, error_message: deadlineExceeded.message } as const

const joinedRuns = (db: Kysely<Tables>) =>
  db.selectFrom('live_run').innerJoin('live_query', 'live_query.live_query_id', 'live_run.live_query_id')

const runsWithQuery = (db: Kysely<Tables>) =>
  joinedRuns(db)
    .selectAll('live_run')
    .select([
      'live_query.dataset_id',
      'live_query.resource_kind',
      'live_query.query',
      'live_query.max_items',
      'live_query.deadline_at',
    ])

const dueRuns = (db: Kysely<Tables>, nowMs: number, most: number) =>
  runsWithQuery(db)
    .where('live_run.status', 'in', ['pending', 'running'])
    .where(({ or, eb }) =>
      or([eb('live_query.deadline_at', '<=', nowMs), eb('live_run.lease_expires_at', '<=', nowMs)]),
    )
    .orderBy('live_run.task_id')
    .limit(most)
    .execute()

/** One step of the state table. Returns false if the run has changed since it was read. */
async function step(
  db: Kysely<Tables>,
  run: RunWithQuery,
  nowMs: number,
  event: RunEvent,
  change: Updateable<LiveRunRow>,
): Promise<boolean> {
  // A step starts from the state at this time, but a step that the clock causes starts from the stored state.
  const byClock = event === 'lapse' || event === 'deadline'
  const from = byClock ? (run.status as RunState) : stateOf(run, nowMs)
  const status = nextState(from, event)
  if (status === null) return false
  const { numUpdatedRows } = await db
    .updateTable('live_run')
    .set({ ...change, status })
    .where('run_id', '=', run.run_id)
    .where('status', '=', run.status)
    .where('lease_id', 'is not distinct from', run.lease_id)
    .where('items', '=', run.items)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const stateOf = (run: RunWithQuery, nowMs: number): RunState =>
  stateAt({ status: run.status as RunState, leaseExpiresAt: run.lease_expires_at }, run.deadline_at, nowMs)

/** The run if the claim's lease on it is valid; otherwise the reason why not. */
async function heldRun(
  db: Kysely<Tables>,
  claim: LeaseClaim,
  nowMs: number,
): Promise<RunWithQuery | 'not_found' | 'closed' | 'lease_lost'> {
  const run = await runsWithQuery(db).where('live_run.task_id', '=', claim.taskId).executeTakeFirst()
  if (run === undefined) return 'not_found'
  const state = stateOf(run, nowMs)
  if (isOver(state)) return 'closed'
  return state === 'running' && isHolder(run, claim) ? run : 'lease_lost'
}

const isHolder = (run: LiveRunRow, claim: LeaseClaim): boolean =>
  run.collector_id === claim.collectorId && (claim.leaseId === null || claim.leaseId === run.lease_id)

/** The first response may have been lost, so a holder that repeats the end gets the same response. */
async function repeatedEnd(
  db: Kysely<Tables>,
  claim: LeaseClaim,
  event: 'succeed' | 'fail',
): Promise<IfHeld<{ readonly items: number }> | null> {
  const run = await db.selectFrom('live_run').selectAll().where('task_id', '=', claim.taskId).executeTakeFirst()
  if (run === undefined || !isHolder(run, claim) || run.status !== nextState('running', event)) return null
  return { held: true, value: { items: run.items } }
}

/** A live query is complete when its last run ends. */
async function closeQuery(db: Kysely<Tables>, liveQueryId: string, atMs: number): Promise<void> {
  await db
    .updateTable('live_query')
    .set({ completed_at: atMs })
    .where('live_query_id', '=', liveQueryId)
    .where('completed_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('live_run')
            .select('run_id')
            .where('live_query_id', '=', liveQueryId)
            .where('status', 'in', ['pending', 'running']),
        ),
      ),
    )
    .execute()
}

/** Ingests items up to the maximum of the task. A document that the task has already delivered does not count again. */
async function ingestItems(
  db: Kysely<Tables>,
  run: RunWithQuery,
  documents: readonly IncomingDocument[],
  nowMs: number,
): Promise<{ results: IngestResult[]; fresh: [externalId: string, documentId: string][] }> {
  const itemIds = new Set<string>()
  if (documents.length > 0) {
    const there = await db
      .selectFrom('live_item')
      .select('external_id')
      .where('run_id', '=', run.run_id)
      .where('external_id', 'in', [...new Set(documents.map(({ externalId }) => externalId))])
      .execute()
    for (const { external_id } of there) itemIds.add(external_id)
  }
  const known = new Set(itemIds)
  let free = run.max_items - run.items
  const taken = documents.filter(({ externalId }) => {
    if (itemIds.has(externalId)) return true
    if (free <= 0) return false
    free--
    itemIds.add(externalId)
    return true
  })
  const stored = await sqlContentStore(db).ingest(taken, nowMs)
  const fresh = new Map<string, string>()
  for (const [i, result] of stored.entries()) {
    const { externalId } = taken[i]!
    if ('documentId' in result && !known.has(externalId)) fresh.set(externalId, result.documentId)
  }
  const message = `the task already has its maximum of ${run.max_items} items: complete it`
  let used = 0
  const results = documents.map(
    (one): IngestResult => (one === taken[used] ? stored[used++]! : { refusal: { code: 'too_many_items', message } }),
  )
  return { results, fresh: [...fresh] }
}

const heldTask = (run: RunWithQuery): HeldTask => ({
  taskId: run.task_id,
  leaseId: run.lease_id!,
  datasetId: run.dataset_id,
  platform: run.platform,
  deadlineAt: run.deadline_at,
  leaseExpiresAt: run.lease_expires_at!,
})

async function recordPoll(
  db: Kysely<Tables>,
  collectorId: string,
  platforms: readonly string[],
  kinds: readonly string[],
  nowMs: number,
): Promise<void> {
  const fresh = await db
    .selectFrom('collector_poll')
    .select(['platform', 'resource_kind'])
    .where('collector_id', '=', collectorId)
    .where('platform', 'in', platforms)
    .where('polled_at', '>', nowMs - pollRecordedEveryMs)
    .execute()
  const recorded = new Set(fresh.map(({ platform, resource_kind }) => `${resource_kind} ${platform}`))
  for (const platform of platforms) {
    for (const resource_kind of kinds) {
      if (recorded.has(`${resource_kind} ${platform}`)) continue
      await db
        .insertInto('collector_poll')
        .values({ collector_id: collectorId, platform, resource_kind, polled_at: nowMs })
        .onConflict((conflict) =>
          conflict.columns(['collector_id', 'platform', 'resource_kind']).doUpdateSet({ polled_at: nowMs }),
        )
        .execute()
    }
  }
}
