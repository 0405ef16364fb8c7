import type { Kysely } from 'kysely'
import { storedDatasets } from '../../access/stored-rights.ts'
import { liveLimits, type ResourceKind } from '../../live/limits.ts'
import type { Creation, LiveQuery, LiveStore, NewLiveQuery } from '../../live/live-store.ts'
import type { RunState } from '../../live/states.ts'
import { firstIdAt, newId } from '../../platform/ids.ts'
import { columnNames, columnsOf, detailColumns, detailsOf } from './document-rows.ts'
import { insertRows } from './insert-rows.ts'
import { findClaim, keepClaim } from './kept-claims.ts'
import { liveTasks } from './live-tasks.ts'
import { readBodies } from './read-bodies.ts'
import type { LiveQueryRow, LiveRunRow, Tables } from './tables.ts'

/** Nobody knows when a running live query ends, and a retry costs little. */
const retryAfterMaxSeconds = 5
const minuteMs = 60_000

export function sqlLiveStore(db: Kysely<Tables>): LiveStore {
  return {
    async create(request, nowMs) {
      const known = await knownKey(db, request, nowMs)
      if (known !== null) return known
      const refused = (await overLimit(db, request, nowMs)) ?? (await notServed(db, request, nowMs))
      if (refused !== null) return refused
      return { kind: 'created', liveQuery: await insertQuery(db, request, nowMs) }
    },

    async cancel(liveQueryId, nowMs) {
      await db
        .updateTable('live_run')
        .set({ status: 'cancelled' satisfies RunState })
        .where('live_query_id', '=', liveQueryId)
        .where('status', 'in', ['pending', 'running'])
        .execute()
      await db
        .updateTable('live_query')
        .set({ completed_at: nowMs })
        .where('live_query_id', '=', liveQueryId)
        .where('completed_at', 'is', null)
        .execute()
      await db.deleteFrom('live_key').where('live_query_id', '=', liveQueryId).execute()
    },

    async find(applicationId, liveQueryId) {
      const row = await db
        .selectFrom('live_query')
        .selectAll()
        .where('live_query_id', '=', liveQueryId)
        .where('application_id', '=', applicationId)
        .executeTakeFirst()
      return row === undefined ? null : withRuns(db, row)
    },

    bodies: (versionIds) => readBodies(db, versionIds),

    async items(liveQueryId, after, limit) {
      let query = db
        .selectFrom('live_item')
        .innerJoin('live_run', 'live_run.run_id', 'live_item.run_id')
        .innerJoin('document', 'document.document_id', 'live_item.document_id')
        .select([
          'live_item.position',
          'live_run.ordinal',
          'document.document_id',
          'document.current_version_id',
          'document.title',
          ...[...columnNames, ...detailColumns].map((column) => `document.${column}` as const),
        ])
        .where('live_run.live_query_id', '=', liveQueryId)
        .orderBy('live_item.position')
        .orderBy('live_run.ordinal')
        .limit(limit)
      if (after !== null) {
        const [position, ordinal] = after
        query = query.where(({ eb, and, or }) =>
          or([
            eb('live_item.position', '>', position),
            and([eb('live_item.position', '=', position), eb('live_run.ordinal', '>', ordinal)]),
          ]),
        )
      }
      return (await query.execute()).map((row) => ({
        position: [row.position, row.ordinal],
        documentId: row.document_id,
        versionId: row.current_version_id,
        title: row.title,
        ...columnsOf(row),
        ...detailsOf(row),
      }))
    },

    ...liveTasks(db),

    async forget(keysBeforeMs, queriesBeforeMs, most) {
      const keys = await db
        .selectFrom('live_key')
        .select(['application_id', 'idempotency_key'])
        .where('created_at', '<', keysBeforeMs)
        .limit(most)
        .execute()
      for (const key of keys) {
        await db
          .deleteFrom('live_key')
          .where('application_id', '=', key.application_id)
          .where('idempotency_key', '=', key.idempotency_key)
          .execute()
      }
      // Ids sort by the time they were made.
      const queries = await db
        .selectFrom('live_query')
        .select('live_query_id')
        .where('live_query_id', '<', firstIdAt('lq', queriesBeforeMs))
        .where('completed_at', 'is not', null)
        .orderBy('live_query_id')
        .limit(most)
        .execute()
      for (const { live_query_id } of queries) {
        const runs = db.selectFrom('live_run').select('run_id').where('live_query_id', '=', live_query_id)
        await db.deleteFrom('live_item').where('run_id', 'in', runs).execute()
        await db.deleteFrom('live_run').where('live_query_id', '=', live_query_id).execute()
        await db.deleteFrom('live_query').where('live_query_id', '=', live_query_id).execute()
      }
      return keys.length + queries.length
    },
  }
}

async function knownKey(db: Kysely<Tables>, { claim }: NewLiveQuery, nowMs: number): Promise<Creation | null> {
  const kept = await findClaim(db, claim, nowMs)
  if (kept === null) return null
  if (kept.requestHash !== claim.requestHash) return { kind: 'key_reused' }
  const query = db.selectFrom('live_query').selectAll().where('live_query_id', '=', kept.madeId)
  return { kind: 'known', liveQuery: await withRuns(db, await query.executeTakeFirstOrThrow()) }
}

/** Counts in the store, so that the limits hold for all processes of an instance together. */
async function overLimit(db: Kysely<Tables>, request: NewLiveQuery, nowMs: number): Promise<Creation | null> {
  const { applicationId, concurrentMax, perMinuteMax } = request
  if (perMinuteMax !== null) {
    // Another query is allowed when the oldest of the newest `perMinuteMax` queries leaves the window of a minute.
    const recent = await db
      .selectFrom('live_query')
      .select('created_at')
      .where('application_id', '=', applicationId)
      .where('created_at', '>', nowMs - minuteMs)
      .orderBy('created_at', 'desc')
      .limit(Math.max(1, perMinuteMax))
      .execute()
    if (recent.length >= perMinuteMax) {
      const waitMs = perMinuteMax === 0 ? minuteMs : recent.at(-1)!.created_at + minuteMs - nowMs
      return { kind: 'too_fast', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
    }
  }
  if (concurrentMax === null) return null
  const open = await db
    .selectFrom('live_query')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('deadline_at').as('first')])
    .where('application_id', '=', applicationId)
    .where('completed_at', 'is', null)
    .where('deadline_at', '>', nowMs)
    .executeTakeFirstOrThrow()
  if (Number(open.count) < concurrentMax) return null
  const waitMs = open.first === null ? minuteMs : Number(open.first) - nowMs
  const seconds = Math.max(1, Math.min(retryAfterMaxSeconds, Math.ceil(waitMs / 1000)))
  return { kind: 'too_many', retryAfterSeconds: concurrentMax === 0 ? minuteMs / 1000 : seconds }
}

/** A platform is served if a collector that may write to the dataset has recently polled for such tasks. */
async function notServed(db: Kysely<Tables>, request: NewLiveQuery, nowMs: number): Promise<Creation | null> {
  const polls = await db
    .selectFrom('collector_poll')
    .innerJoin('collector', 'collector.collector_id', 'collector_poll.collector_id')
    .select(['platform', 'collector.collector_id', 'datasets'])
    .where('platform', 'in', request.platforms)
    .where('resource_kind', 'in', ['', request.resourceKind])
    .where('polled_at', '>', nowMs - liveLimits.servedWithinMs)
    .execute()
  const served = new Set<string>()
  for (const { platform, collector_id, datasets } of polls) {
    if (storedDatasets(datasets, collector_id)?.includes(request.datasetId) ?? true) served.add(platform)
  }
  const platform = request.platforms.find((one) => !served.has(one))
  return platform === undefined ? null : { kind: 'not_served', platform }
}

async function insertQuery(db: Kysely<Tables>, request: NewLiveQuery, nowMs: number): Promise<LiveQuery> {
  const row: LiveQueryRow = {
    live_query_id: newId('lq', nowMs),
    application_id: request.applicationId,
    dataset_id: request.datasetId,
    resource_kind: request.resourceKind,
    query: request.query,
    max_items: request.maxItems,
    created_at: nowMs,
    deadline_at: nowMs + request.deadlineMs,
    completed_at: null,
  }
  await insertRows(db, 'live_query', [row])
  const runs = request.platforms.map(
    (platform, ordinal): LiveRunRow => ({
      run_id: newId('lqr', nowMs),
      task_id: newId('task', nowMs),
      live_query_id: row.live_query_id,
      ordinal,
      platform,
      status: 'pending' satisfies RunState,
      items: 0,
      error_code: null,
      error_message: null,
      lease_id: null,
      collector_id: null,
      lease_expires_at: null,
    }),
  )
  await insertRows(db, 'live_run', runs)
  await keepClaim(db, { ...request.claim, madeId: row.live_query_id }, nowMs)
  return liveQueryOf(row, runs)
}

async function withRuns(db: Kysely<Tables>, row: LiveQueryRow): Promise<LiveQuery> {
  const runs = await db
    .selectFrom('live_run')
    .selectAll()
    .where('live_query_id', '=', row.live_query_id)
    .orderBy('ordinal')
    .execute()
  return liveQueryOf(row, runs)
}

function liveQueryOf(row: LiveQueryRow, runs: readonly LiveRunRow[]): LiveQuery {
  return {
    liveQueryId: row.live_query_id,
    datasetId: row.dataset_id,
    resourceKind: row.resource_kind as ResourceKind,
    query: row.query,
    createdAt: row.created_at,
    deadlineAt: row.deadline_at,
    completedAt: row.completed_at,
    runs: runs.map((run) => ({
      runId: run.run_id,
      taskId: run.task_id,
      platform: run.platform,
      status: run.status as RunState,
      items: run.items,
      error: run.error_message === null ? null : { code: run.error_code ?? 'failed', message: run.error_message },
      leaseExpiresAt: run.lease_expires_at,
    })),
  }
}
