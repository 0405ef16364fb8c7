import type { Kysely } from 'kysely'
import { unfinishedStatuses } from '../../analysis/run-states.ts'
import { TidemarkError } from '../../errors.ts'
import type { Tables } from './tables.ts'

/** What stands in the way of a deletion, counted. */
type Uses = Readonly<Record<string, { readonly count: number; readonly of: string }>>

function refuseInUse(what: string, uses: Uses): void {
  const details = Object.entries(uses).flatMap(([path, { count, of }]) =>
    count === 0 ? [] : [{ path, message: `${of}: ${count}` }],
  )
  if (details.length === 0) return
  const message = `${what} is in use: ${details.map((one) => one.message).join(', ')}`
  throw new TidemarkError('in_use', message, { details })
}

export async function deleteApplication(
  db: Kysely<Tables>,
  applicationId: string,
  force: boolean,
  nowMs: number,
): Promise<void> {
  const unfinished = db
    .selectFrom('analysis_run')
    .where('application_id', '=', applicationId)
    .where('status', 'in', unfinishedStatuses)
    .where('expires_at', '>', nowMs)
  const subscriptions = db.selectFrom('analysis_subscription').where('application_id', '=', applicationId)
  if (!force) {
    const keys = await keysOf(db, applicationId)
    const valid = keys.filter((key) => key.revoked_at === null && (key.expires_at === null || key.expires_at > nowMs))
    refuseInUse(`application ${applicationId}`, {
      keys: { count: valid.length, of: 'keys that work' },
      runs: { count: (await unfinished.select('run_id').execute()).length, of: 'unfinished runs' },
      subscriptions: { count: (await subscriptions.select('subscription_id').execute()).length, of: 'subscriptions' },
    })
  }
  await db
    .updateTable('analysis_run')
    .set({ status: 'cancelled', completed_at: nowMs, worker_id: null })
    .where('run_id', 'in', unfinished.select('run_id'))
    .execute()
  await db.deleteFrom('analysis_subscription').where('application_id', '=', applicationId).execute()
  await endKeys(db, { kind: 'consumer', id: applicationId }, nowMs)
  await db.deleteFrom('entitlement').where('application_id', '=', applicationId).execute()
  await db.deleteFrom('application').where('application_id', '=', applicationId).execute()
}

/** Tasks that it held are another's when their leases lapse. */
export async function deleteCollector(
  db: Kysely<Tables>,
  collectorId: string,
  force: boolean,
  nowMs: number,
): Promise<void> {
  if (!force) {
    const held = await db
      .selectFrom('live_run')
      .select('run_id')
      .where('collector_id', '=', collectorId)
      .where('status', '=', 'running')
      .where('lease_expires_at', '>', nowMs)
      .execute()
    refuseInUse(`collector ${collectorId}`, { tasks: { count: held.length, of: 'tasks that it holds' } })
  }
  await db.deleteFrom('collector_poll').where('collector_id', '=', collectorId).execute()
  await endKeys(db, { kind: 'collector', id: collectorId }, nowMs)
  await db.deleteFrom('collector').where('collector_id', '=', collectorId).execute()
}

const keysOf = (db: Kysely<Tables>, ownerId: string) =>
  db
    .selectFrom('api_key')
    .select(['revoked_at', 'expires_at'])
    .where(({ eb, or }) =>
      or([eb('owner_id', '=', ownerId), eb('application_id', '=', ownerId), eb('collector_id', '=', ownerId)]),
    )
    .execute()

/** They stay in the lists as revoked: a backup of an earlier time that is restored must not bring them back to life. */
async function endKeys(
  db: Kysely<Tables>,
  owner: { readonly kind: 'consumer' | 'collector'; readonly id: string },
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('api_key')
    .set((eb) => ({
      revoked_at: eb.fn.coalesce('revoked_at', eb.val(nowMs)),
      owner_kind: owner.kind,
      owner_id: owner.id,
      application_id: null,
      collector_id: null,
    }))
    .where(({ eb, or }) =>
      or([eb('owner_id', '=', owner.id), eb('application_id', '=', owner.id), eb('collector_id', '=', owner.id)]),
    )
    .execute()
}
