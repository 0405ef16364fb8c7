import type { Kysely } from 'kysely'
import type { AnalysisStore, RunEnd } from '../../analysis/analysis-store.ts'
import { unfinishedStatuses } from '../../analysis/run-states.ts'
import type { Subscription, SubscriptionStore } from '../../analysis/subscription-store.ts'
import { hasPlace, insertRun } from './analysis-run-rows.ts'
import { sqlChangeLog } from './change-log.ts'
import type { AnalysisRunRow, AnalysisSubscriptionRow, Tables } from './tables.ts'

/** Events among which the latest time of ingest is looked for: those of the last batches of every process that writes. */
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
    async addSubscription(one) {
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
          parameters: null,
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
      const wanted = paused ? 1 : 0
      await db
        .updateTable('analysis_subscription')
        .set({ paused: wanted, updated_at: now })
        .where('subscription_id', '=', subscriptionId)
        .where('application_id', '=', applicationId)
        .where('paused', '!=', wanted)
        .execute()
      const row = await subscriptionRow(applicationId, subscriptionId)
      return row === undefined ? null : subscriptionOf(row)
    },

    async startRun({ subscriptionId, afterTurn, run, concurrentMax }) {
      const row = await subscriptionRow(run.applicationId, subscriptionId)
      if (row === undefined || row.paused === 1 || row.turn !== afterTurn) return null
      if (await isUnderWay(db, row, run.createdAt)) return null
      if (!(await hasPlace(db, run, concurrentMax))) return null
      const { newest } = await feed.state()
      const turn = afterTurn + 1
      const started = await db
        .updateTable('analysis_subscription')
        .set({ turn, last_run_id: run.runId, tries: row.tries + 1, followed_through: newest })
        .where('subscription_id', '=', subscriptionId)
        .executeTakeFirst()
      // Deleted with its application a moment ago.
      if (started.numUpdatedRows === 0n) return null
      // What an event of the feed tells of must be in the input, also where the clock of who wrote it is ahead.
      const inputCutoffAt = Math.max(run.inputCutoffAt, await latestIngest(db, newest))
      return insertRun(db, { ...run, inputCutoffAt }, { subscriptionId, turn, feedSequence: newest })
    },
  }
}

/** A success moves the checkpoint of the run's subscription, in the transaction that records it. */
export async function moveCheckpoint(
  db: Kysely<Tables>,
  { run_id, subscription_id, feed_sequence, warnings }: AnalysisRunRow,
  { at }: RunEnd,
): Promise<void> {
  if (subscription_id === null) return
  await db
    .updateTable('analysis_subscription')
    .set({
      checkpoint_sequence: feed_sequence,
      checkpoint_run_id: run_id,
      checkpoint_at: at,
      // What lacked vectors is tried again, later and later, as what failed is.
      ...(warnings === null || JSON.parse(warnings).length === 0 ? { tries: 0 } : {}),
    })
    .where('subscription_id', '=', subscription_id)
    .execute()
}

async function isUnderWay(db: Kysely<Tables>, { last_run_id }: AnalysisSubscriptionRow, now: number): Promise<boolean> {
  if (last_run_id === null) return false
  const last = await db
    .selectFrom('analysis_run')
    .select('run_id')
    .where('run_id', '=', last_run_id)
    .where('status', 'in', unfinishedStatuses)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return last !== undefined
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
