import type { Kysely } from 'kysely'
import type { TakenRun } from '../../analysis/analysis-store.ts'
import { heldStatuses, type RunStatus, statusesBefore, unfinishedStatuses } from '../../analysis/run-states.ts'
import type { SubscriptionStore } from '../../analysis/subscription-store.ts'
import { sqlAnalysisInput } from './analysis-input.ts'
import { insertRun, mayAddRun, runOf } from './analysis-run-rows.ts'
import { moveCheckpoint, sqlSubscriptions } from './analysis-subscriptions.ts'
import { countByStatus } from './count-by-status.ts'
import { keepClaim } from './kept-claims.ts'
import type { Tables } from './tables.ts'

export function sqlAnalysisStore(db: Kysely<Tables>): SubscriptionStore {
  const runRow = (applicationId: string, runId: string) =>
    db
      .selectFrom('analysis_run')
      .selectAll()
      .where('run_id', '=', runId)
      .where('application_id', '=', applicationId)
      .executeTakeFirst()
  /** An update of a run, if this worker holds it and it is in one of the states. */
  const held = (runId: string, workerId: string, statuses: readonly RunStatus[]) =>
    db
      .updateTable('analysis_run')
      .where('run_id', '=', runId)
      .where('worker_id', '=', workerId)
      .where('status', 'in', statuses)

  return {
    ...sqlAnalysisInput(db),
    ...sqlSubscriptions(db),

    async addRun(run, concurrentMax, claim) {
      if (!(await mayAddRun(db, run, concurrentMax))) return false
      await keepClaim(db, claim, run.createdAt)
      await insertRun(db, run, null)
      return true
    },

    async run(applicationId, runId) {
      const row = await runRow(applicationId, runId)
      return row === undefined ? null : runOf(row)
    },

    async runs({ applicationId, status, before, limit, now, goneBefore }) {
      let query = db
        .selectFrom('analysis_run')
        .selectAll()
        .where('application_id', '=', applicationId)
        .where('expires_at', '>', goneBefore)
        .orderBy('run_id', 'desc')
        .limit(limit)
      if (before !== null) query = query.where('run_id', '<', before)
      // A run past its time counts as expired, even if its status has not been updated yet.
      if (status === 'expired') query = query.where('expires_at', '<=', now)
      else if (status !== null) query = query.where('status', '=', status).where('expires_at', '>', now)
      return (await query.execute()).map(runOf)
    },

    async runQueue({ unfinished, before, limit, now }) {
      let query = db.selectFrom('analysis_run').selectAll().orderBy('run_id', 'desc').limit(limit)
      if (unfinished) query = query.where('status', 'in', unfinishedStatuses).where('expires_at', '>', now)
      if (before !== null) query = query.where('run_id', '<', before)
      return (await query.execute()).map((row) => ({ ...runOf(row), attempts: row.attempts }))
    },

    unfinishedRuns: (countedMax) => countByStatus(db, 'analysis_run', unfinishedStatuses, countedMax),

    async cancelRun(applicationId, runId, now) {
      await db
        .updateTable('analysis_run')
        .set({ status: 'cancelled', completed_at: now, worker_id: null })
        .where('run_id', '=', runId)
        .where('application_id', '=', applicationId)
        .where('status', 'in', statusesBefore('cancel'))
        .where('expires_at', '>', now)
        .execute()
      const row = await runRow(applicationId, runId)
      return row === undefined ? null : runOf(row)
    },

    async artifacts(runId) {
      const rows = await db
        .selectFrom('analysis_artifact')
        .selectAll()
        .where('run_id', '=', runId)
        .orderBy('artifact_id')
        .execute()
      return rows.map((row) => ({
        artifactId: row.artifact_id,
        name: row.name,
        rows: Number(row.row_count),
        bytes: Number(row.byte_count),
        sha256: row.sha256,
      }))
    },

    async takeRun({ workerId, now, until }) {
      const lapsed = await db
        .selectFrom('analysis_run')
        .select('run_id')
        .where('status', 'in', heldStatuses)
        .where('lease_until', '<=', now)
        .where('expires_at', '>', now)
        .orderBy('run_id')
        .limit(1)
        .executeTakeFirst()
      const first = lapsed?.run_id ?? (await nextQueued(db, now))
      if (first === undefined) return null
      const row = await db
        .updateTable('analysis_run')
        .set((eb) => ({
          status: 'validating',
          progress: 0,
          input: null,
          warnings: null,
          worker_id: workerId,
          lease_until: until,
          attempts: eb('attempts', '+', 1),
          started_at: eb.fn.coalesce('started_at', eb.val(now)),
        }))
        .where('run_id', '=', first)
        .where('status', 'in', statusesBefore('take'))
        .returningAll()
        .executeTakeFirstOrThrow()
      return { ...runOf(row), attempts: row.attempts } satisfies TakenRun
    },

    async renew(runId, { workerId, until }, progress) {
      return changed(await held(runId, workerId, heldStatuses).set({ lease_until: until, progress }).executeTakeFirst())
    },

    async beginRun(runId, workerId, input, warnings) {
      return changed(
        await held(runId, workerId, statusesBefore('begin'))
          .set({ status: 'running', input: JSON.stringify(input), warnings: JSON.stringify(warnings) })
          .executeTakeFirst(),
      )
    },

    async endRun(runId, workerId, end) {
      const succeeded = 'artifacts' in end
      const ended = await held(runId, workerId, statusesBefore(succeeded ? 'succeed' : 'fail'))
        .set({
          status: succeeded ? 'succeeded' : 'failed',
          completed_at: end.at,
          worker_id: null,
          ...(succeeded ? { progress: 1 } : { error: JSON.stringify(end.error) }),
        })
        .where('expires_at', '>', end.at)
        .returningAll()
        .executeTakeFirst()
      if (ended !== undefined && succeeded) {
        await moveCheckpoint(db, ended, end)
        await db
          .insertInto('analysis_artifact')
          .values(
            end.artifacts.map(({ artifactId, name, rows, bytes, sha256 }) => ({
              artifact_id: artifactId,
              run_id: runId,
              row_count: rows,
              byte_count: bytes,
              sha256,
              name,
            })),
          )
          .execute()
      }
      return ended !== undefined
    },

    async releaseRun(runId, workerId, counted) {
      await held(runId, workerId, heldStatuses)
        .set((eb) => ({ worker_id: null, lease_until: 0, attempts: eb('attempts', '-', counted ? 0 : 1) }))
        .execute()
    },

    async expireRuns(now, most) {
      const rows = await db
        .selectFrom('analysis_run')
        .select('run_id')
        .where('expires_at', '<=', now)
        .where('status', 'in', statusesBefore('expire'))
        .orderBy('expires_at')
        .limit(most)
        .execute()
      const runIds = rows.map((row) => row.run_id)
      if (runIds.length === 0) return { expired: 0, artifactIds: [] }
      await db
        .updateTable('analysis_run')
        .set({ status: 'expired', worker_id: null })
        .where('run_id', 'in', runIds)
        .execute()
      const gone = await db
        .deleteFrom('analysis_artifact')
        .where('run_id', 'in', runIds)
        .returning('artifact_id')
        .execute()
      return { expired: runIds.length, artifactIds: gone.map((row) => row.artifact_id) }
    },

    async removeRuns(goneBefore, most) {
      const rows = await db
        .selectFrom('analysis_run')
        .select('run_id')
        .where('expires_at', '<=', goneBefore)
        .where('status', '=', 'expired')
        .orderBy('expires_at')
        .limit(most)
        .execute()
      const runIds = rows.map((row) => row.run_id)
      if (runIds.length > 0) await db.deleteFrom('analysis_run').where('run_id', 'in', runIds).execute()
      return runIds.length
    },

    async knownArtifacts(artifactIds) {
      if (artifactIds.length === 0) return []
      const rows = await db
        .selectFrom('analysis_artifact')
        .select('artifact_id')
        .where('artifact_id', 'in', artifactIds)
        .execute()
      return rows.map((row) => row.artifact_id)
    },
  }
}

const changed = (result: { numUpdatedRows: bigint } | undefined): boolean => (result?.numUpdatedRows ?? 0n) > 0n

/** Round-robin over applications: the oldest queued run of the application whose last run started longest ago. */
async function nextQueued(db: Kysely<Tables>, now: number): Promise<string | undefined> {
  const oldest = db
    .selectFrom('analysis_run')
    .select((eb) => ['application_id', eb.fn.min('run_id').as('run_id')])
    .where('status', '=', 'queued')
    .where('expires_at', '>', now)
    .groupBy('application_id')
    .as('oldest')
  const next = await db
    .selectFrom(oldest)
    .select((eb) => [
      'oldest.run_id',
      eb.fn
        .coalesce(
          eb
            .selectFrom('analysis_run')
            .select('started_at')
            .whereRef('analysis_run.application_id', '=', 'oldest.application_id')
            .where('started_at', 'is not', null)
            .orderBy('analysis_run.run_id', 'desc')
            .limit(1),
          eb.val(0),
        )
        .as('last_started'),
    ])
    .orderBy('last_started')
    .orderBy('oldest.run_id')
    .limit(1)
    .executeTakeFirst()
  return next?.run_id
}
