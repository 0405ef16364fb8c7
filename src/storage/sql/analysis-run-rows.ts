import type { Kysely } from 'kysely'
import type { NewRun, Run, SubscriptionTurn } from '../../analysis/analysis-store.ts'
import { type RunStatus, unfinishedStatuses } from '../../analysis/run-states.ts'
import type { AnalysisRunRow, Tables } from './tables.ts'

/** Whether the application may have one more unfinished run. */
export async function mayAddRun(
  db: Kysely<Tables>,
  { applicationId, createdAt }: NewRun,
  concurrentMax: number | null,
): Promise<boolean> {
  if (concurrentMax === null) return true
  const { unfinished } = await db
    .selectFrom('analysis_run')
    .select((eb) => eb.fn.countAll<number>().as('unfinished'))
    .where('application_id', '=', applicationId)
    .where('status', 'in', unfinishedStatuses)
    .where('expires_at', '>', createdAt)
    .executeTakeFirstOrThrow()
  return Number(unfinished) < concurrentMax
}

export async function insertRun(db: Kysely<Tables>, run: NewRun, subscription: SubscriptionTurn | null): Promise<Run> {
  const row: AnalysisRunRow = {
    run_id: run.runId,
    application_id: run.applicationId,
    analysis_type: run.analysisType,
    embedding_profile_id: run.embeddingProfileId,
    input_scope: JSON.stringify(run.inputScope),
    parameters: run.parameters === null ? null : JSON.stringify(run.parameters),
    input_cutoff_at: run.inputCutoffAt,
    retention_days: run.retentionDays,
    scope: JSON.stringify(run.scope),
    status: 'queued',
    progress: 0,
    created_at: run.createdAt,
    started_at: null,
    completed_at: null,
    expires_at: run.expiresAt,
    error: null,
    input: null,
    warnings: null,
    worker_id: null,
    lease_until: 0,
    attempts: 0,
    subscription_id: subscription?.subscriptionId ?? null,
    turn: subscription?.turn ?? null,
    feed_sequence: subscription?.feedSequence ?? null,
  }
  await db.insertInto('analysis_run').values(row).execute()
  return runOf(row)
}

export function runOf(row: AnalysisRunRow): Run {
  return {
    runId: row.run_id,
    applicationId: row.application_id,
    analysisType: row.analysis_type as Run['analysisType'],
    embeddingProfileId: row.embedding_profile_id,
    inputScope: JSON.parse(row.input_scope),
    parameters: row.parameters === null ? null : JSON.parse(row.parameters),
    inputCutoffAt: row.input_cutoff_at,
    retentionDays: row.retention_days,
    scope: JSON.parse(row.scope),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    status: row.status as RunStatus,
    progress: row.progress,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    error: row.error === null ? null : JSON.parse(row.error),
    input: row.input === null ? null : JSON.parse(row.input),
    warnings: row.warnings === null ? [] : JSON.parse(row.warnings),
    subscription:
      row.subscription_id === null
        ? null
        : { subscriptionId: row.subscription_id, turn: row.turn!, feedSequence: row.feed_sequence! },
  }
}
