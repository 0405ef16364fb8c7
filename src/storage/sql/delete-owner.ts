import type { Kysely } from 'kysely'
import type { EntitlementInput } from '../../access/entitlement.ts'
import { unfinishedStatuses } from '../../analysis/run-states.ts'
import { TidemarkError } from '../../platform/errors.ts'
import type { Tables } from './tables.ts'

/** The uses that prevent a deletion, with their counts. */
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
    refuseInUse(`application ${applicationId}`, {
      keys: { count: await validKeys(db, applicationId, nowMs), of: 'valid keys' },
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
  await revokeKeys(db, { kind: 'consumer', id: applicationId }, nowMs)
  await db.deleteFrom('entitlement').where('application_id', '=', applicationId).execute()
  await db.deleteFrom('application').where('application_id', '=', applicationId).execute()
}

/** Deletes a collector. When the leases on its tasks expire, other collectors get them. */
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
    refuseInUse(`collector ${collectorId}`, {
      keys: { count: await validKeys(db, collectorId, nowMs), of: 'valid keys' },
      tasks: { count: held.length, of: 'tasks in progress' },
    })
  }
  await db.deleteFrom('collector_poll').where('collector_id', '=', collectorId).execute()
  await revokeKeys(db, { kind: 'collector', id: collectorId }, nowMs)
  await db.deleteFrom('collector').where('collector_id', '=', collectorId).execute()
}

/** Deletes a dataset that nothing uses. */
export async function deleteDataset(db: Kysely<Tables>, datasetId: string): Promise<void> {
  await refuseIfBeingDeleted(db, datasetId)
  await refuseDatasetInUse(db, datasetId)
  await db.deleteFrom('dataset').where('dataset_id', '=', datasetId).execute()
}

async function refuseDatasetInUse(db: Kysely<Tables>, datasetId: string): Promise<void> {
  const counted = async (table: 'document' | 'classification'): Promise<number> => {
    const rows = db.selectFrom(table).where('dataset_id', '=', datasetId)
    return Number((await rows.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()).count)
  }
  const entries = await db.selectFrom('entitlement').select(['application_id', 'entry']).execute()
  const readers = entries.filter(({ entry }) => (JSON.parse(entry) as EntitlementInput).datasets.includes(datasetId))
  const collectors = await db.selectFrom('collector').select('datasets').where('datasets', 'is not', null).execute()
  const writers = collectors.filter(({ datasets }) => (JSON.parse(datasets!) as string[]).includes(datasetId))
  refuseInUse(`dataset ${datasetId}`, {
    documents: { count: await counted('document'), of: 'documents' },
    classifications: { count: await counted('classification'), of: 'classifications' },
    applications: { count: new Set(readers.map((row) => row.application_id)).size, of: 'applications entitled to it' },
    collectors: { count: writers.length, of: 'collectors bound to it' },
  })
}

export async function refuseIfBeingDeleted(db: Kysely<Tables>, datasetId: string): Promise<void> {
  const deletion = await db
    .selectFrom('dataset')
    .innerJoin('erasure', 'erasure.erasure_id', 'dataset.hidden_by')
    .select('erasure_id')
    .where('dataset_id', '=', datasetId)
    .where('deletes_dataset', 'is not', null)
    .executeTakeFirst()
  if (deletion === undefined) return
  throw new TidemarkError('conflict', `dataset ${datasetId} is being deleted, by erasure ${deletion.erasure_id}`)
}

async function validKeys(db: Kysely<Tables>, ownerId: string, nowMs: number): Promise<number> {
  const keys = await db
    .selectFrom('api_key')
    .select(['revoked_at', 'expires_at'])
    .where(({ eb, or }) =>
      or([eb('owner_id', '=', ownerId), eb('application_id', '=', ownerId), eb('collector_id', '=', ownerId)]),
    )
    .execute()
  return keys.filter((key) => key.revoked_at === null && (key.expires_at === null || key.expires_at > nowMs)).length
}

/** The keys stay in the lists as revoked, so that restoring an earlier backup does not make them valid again. */
async function revokeKeys(
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
