import type { Kysely, Nullable } from 'kysely'
import { isScheduled } from '../../access/policy-limits.ts'
import { storedPolicy } from '../../access/stored-rights.ts'
import type { AnalysisStore, RunEnd, RunWarning } from '../../analysis/analysis-store.ts'
import { unfinishedStatuses } from '../../analysis/run-states.ts'
import type { Subscription, SubscriptionStore, WaitingSubscription } from '../../analysis/subscription-store.ts'
import { idTimeMs } from '../../platform/ids.ts'
import { insertRun, mayAddRun, runOf } from './analysis-run-rows.ts'
import { beforeNext, sqlChangeLog } from './change-log.ts'
import { keepClaim } from './kept-claims.ts'
import { changesOf } from './subscription-changes.ts'
import type { AnalysisRunRow, AnalysisSubscriptionRow, Tables } from './tables.ts'

/**
 * The latest ingest time is searched among this many of the newest events, which cover the last batches of every
 * writing process.
 */
const newestEvents = 2000

export function sqlSubscriptions(db: Kysely<Tables>): Omit<SubscriptionStore, keyof AnalysisStore> {
  const feed = sqlChangeLog(db)
  const subscriptionRow = (applicationId: string, subscriptionId: string) =>
    db
      .selectFrom('analysis_subscription')
      .selectAll()
      .where('subscription_id', '=', subscriptionId)
      .where('application_id', '=', applicationId)
      .executeTakeFirst()

  return {
    async addSubscription(one, claim) {
      await keepClaim(db, claim, one.createdAt)
      await db
        .insertInto('analysis_subscription')
        .values({
          subscription_id: one.subscriptionId,
          application_id: one.applicationId,
          name: one.name,
          analysis_type: one.analysisType,
          input_scope: JSON.stringify(one.inputScope),
          execution_mode: one.executionMode,
          embedding_profile_id: one.embeddingProfileId,
          interval_seconds: one.intervalSeconds,
          artifact_retention_days: one.artifactRetentionDays,
          paused: one.paused ? 1 : 0,
          created_at: one.createdAt,
          updated_at: one.updatedAt,
          parameters: one.parameters === null ? null : JSON.stringify(one.parameters),
          turn: 0,
          last_run_id: null,
          tries: 0,
          followed_through: 0,
          checkpoint_sequence: null,
          checkpoint_run_id: null,
          checkpoint_at: null,
        })
        .execute()
    },

    async subscription(applicationId, subscriptionId) {
      const row = await subscriptionRow(applicationId, subscriptionId)
      return row === undefined ? null : subscriptionOf(row)
    },

    async subscriptions({ applicationId, before, limit }) {
      let query = db
        .selectFrom('analysis_subscription')
        .selectAll()
        .where('application_id', '=', applicationId)
        .orderBy('subscription_id', 'desc')
        .limit(limit)
      if (before !== null) query = query.where('subscription_id', '<', before)
      return (await query.execute()).map(subscriptionOf)
    },

    async setPaused(applicationId, subscriptionId, paused, now) {
      const requested = paused ? 1 : 0
      await db
        .updateTable('analysis_subscription')
        .set({ paused: requested, updated_at: now })
        .where('subscription_id', '=', subscriptionId)
        .where('application_id', '=', applicationId)
        .where('paused', '!=', requested)
        .execute()
      const row = await subscriptionRow(applicationId, subscriptionId)
      return row === undefined ? null : subscriptionOf(row)
    },

    async startRun({ subscriptionId, afterTurn, run, concurrentMax }) {
      const row = await subscriptionRow(run.applicationId, subscriptionId)
      if (row === undefined || row.paused === 1 || row.turn !== afterTurn) return null
      if (await hasUnfinishedRun(db, row, run.createdAt)) return null
      if (!(await mayAddRun(db, run, concurrentMax))) return null
      const { newest } = await feed.state()
      const turn = afterTurn + 1
      const started = await db
        .updateTable('analysis_subscription')
        .set({ turn, last_run_id: run.runId, tries: row.tries + 1, followed_through: newest })
        .where('subscription_id', '=', subscriptionId)
        .executeTakeFirst()
      // The subscription was deleted with its application a moment ago.
      if (started.numUpdatedRows === 0n) return null
      // The input must contain every document that an event of the feed reports, even if the writer's clock is ahead.
      const inputCutoffAt = Math.max(run.inputCutoffAt, await latestIngest(db, newest))
      return insertRun(db, { ...run, inputCutoffAt }, { subscriptionId, turn, feedSequence: newest })
    },

    async waitingSubscriptions({ after, limit, now }) {
      const { newest } = await feed.state()
      let query = db
        .selectFrom('analysis_subscription')
        .innerJoin('application', 'application.application_id', 'analysis_subscription.application_id')
        .leftJoin('analysis_run', 'analysis_run.run_id', 'analysis_subscription.last_run_id')
        .selectAll('analysis_subscription')
        .select(['application.policy', 'analysis_run.status', 'analysis_run.completed_at', 'analysis_run.expires_at'])
        .select('analysis_run.warnings')
        .where('analysis_subscription.paused', '=', 0)
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('api_key')
              .select('key_id')
              .whereRef('api_key.application_id', '=', 'analysis_subscription.application_id')
              .where('revoked_at', 'is', null)
              .where((key) => key.or([key('expires_at', 'is', null), key('expires_at', '>', now)])),
          ),
        )
        .orderBy('analysis_subscription.subscription_id')
        .limit(limit)
      if (after !== null) query = query.where('analysis_subscription.subscription_id', '>', after)
      const rows = await query.execute()
      const waiting = rows
        .filter((row) => mayBeScheduled(row.policy, row.application_id))
        .filter((row) => !isUnfinished(row.status, row.expires_at, now))
        .map((row) => ({
          subscription: subscriptionOf(row),
          turn: row.turn,
          tries: row.tries,
          followedThrough: row.followed_through,
          last: lastOf(row),
        }))
      return { waiting, newest, nextAfter: rows.length < limit ? null : rows.at(-1)!.subscription_id }
    },

    async changesWithin({ after, events, scope, inputScope, withMetrics, now }) {
      const { newest, removedThrough } = await feed.state()
      // Events that are gone from the feed may have been in the scope.
      if (after < removedThrough) return { through: removedThrough, changes: { firstAt: 0, lastAt: 0 } }
      const end = Math.min(newest, after + events)
      const found = await changesOf(db, { scope, inputScope, withMetrics }, after, end)
      if (found !== null) {
        // The writer's clock may be ahead.
        const changes = { firstAt: Math.min(now, found.firstAt), lastAt: Math.min(now, found.lastAt) }
        return { through: end, changes }
      }
      return { through: await beforeNext(db, end, newest), changes: null }
    },

    async keepFollowed(subscriptionId, turn, through) {
      await db
        .updateTable('analysis_subscription')
        .set({ followed_through: through })
        .where('subscription_id', '=', subscriptionId)
        .where('turn', '=', turn)
        .where('followed_through', '<', through)
        .execute()
    },

    async endedRuns({ subscriptionId, afterTurn, limit, now, goneBefore }) {
      const rows = await db
        .selectFrom('analysis_run')
        .selectAll()
        .where('subscription_id', '=', subscriptionId)
        .where('turn', '>', afterTurn)
        .where('expires_at', '>', goneBefore)
        .where((eb) => eb.or([eb('status', 'not in', unfinishedStatuses), eb('expires_at', '<=', now)]))
        .orderBy('turn')
        .limit(limit)
        .execute()
      return rows.map(runOf)
    },

    async knowsRun(subscriptionId, { turn, runId }) {
      const subscription = await db
        .selectFrom('analysis_subscription')
        .select('turn')
        .where('subscription_id', '=', subscriptionId)
        .executeTakeFirst()
      if (subscription === undefined || subscription.turn < turn) return false
      const run = await db
        .selectFrom('analysis_run')
        .select('run_id')
        .where('subscription_id', '=', subscriptionId)
        .where('turn', '=', turn)
        .executeTakeFirst()
      return runId === null || run === undefined || run.run_id === runId
    },
  }
}

/** A successful run moves the checkpoint of its subscription, in the transaction that records the success. */
export async function moveCheckpoint(
  db: Kysely<Tables>,
  { run_id, subscription_id, turn, feed_sequence, warnings }: AnalysisRunRow,
  { at }: RunEnd,
): Promise<void> {
  if (subscription_id === null || turn === null) return
  await db
    .updateTable('analysis_subscription')
    .set({
      checkpoint_sequence: feed_sequence,
      checkpoint_run_id: run_id,
      checkpoint_at: at,
      // A run with missing vectors is repeated like a failed one, with increasing pauses.
      ...(isMissingVectors(warnings) ? {} : { tries: 0 }),
    })
    .where('subscription_id', '=', subscription_id)
    // Another process may have expired this run by its own clock and started the next one. The checkpoint never goes
    // back.
    .where('turn', '=', turn)
    .execute()
}

/** Only this warning means that a later run has more input. */
const isMissingVectors = (warnings: string | null): boolean =>
  warnings !== null && (JSON.parse(warnings) as RunWarning[]).includes('vectors_pending')

async function hasUnfinishedRun(
  db: Kysely<Tables>,
  { last_run_id }: AnalysisSubscriptionRow,
  now: number,
): Promise<boolean> {
  if (last_run_id === null) return false
  const last = await db
    .selectFrom('analysis_run')
    .select(['status', 'expires_at'])
    .where('run_id', '=', last_run_id)
    .executeTakeFirst()
  return last !== undefined && isUnfinished(last.status, last.expires_at, now)
}

/** The status is null if the run was removed. */
const isUnfinished = (status: string | null, expiresAt: number | null, now: number): boolean =>
  (unfinishedStatuses as readonly (string | null)[]).includes(status) && expiresAt! > now

/** An unreadable policy counts as scheduled, so that the scheduler reports the error. */
function mayBeScheduled(policy: string, applicationId: string): boolean {
  try {
    return isScheduled(storedPolicy(policy, applicationId))
  } catch {
    return true
  }
}

function lastOf(
  row: AnalysisSubscriptionRow & Nullable<Pick<AnalysisRunRow, 'completed_at' | 'expires_at' | 'warnings'>>,
): WaitingSubscription['last'] {
  if (row.last_run_id === null) return null
  return {
    startedAt: idTimeMs(row.last_run_id),
    endedAt: row.completed_at ?? row.expires_at ?? 0,
    isComplete: row.checkpoint_run_id === row.last_run_id && !isMissingVectors(row.warnings),
  }
}

async function latestIngest(db: Kysely<Tables>, newest: number): Promise<number> {
  const { latest } = await db
    .selectFrom('event')
    .select((eb) => eb.fn.max('ingested_at').as('latest'))
    .where('sequence', '>', newest - newestEvents)
    .executeTakeFirstOrThrow()
  return Number(latest ?? 0)
}

function subscriptionOf(row: AnalysisSubscriptionRow): Subscription {
  return {
    subscriptionId: row.subscription_id,
    applicationId: row.application_id,
    name: row.name,
    analysisType: row.analysis_type as Subscription['analysisType'],
    inputScope: JSON.parse(row.input_scope),
    executionMode: row.execution_mode as Subscription['executionMode'],
    embeddingProfileId: row.embedding_profile_id,
    parameters: row.parameters === null ? null : JSON.parse(row.parameters),
    intervalSeconds: row.interval_seconds,
    artifactRetentionDays: row.artifact_retention_days,
    paused: row.paused === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    checkpoint:
      row.checkpoint_run_id === null
        ? null
        : { sequence: row.checkpoint_sequence!, runId: row.checkpoint_run_id, completedAt: row.checkpoint_at! },
  }
}
