import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import type { Change, ChangeOutcome, NewKey } from '../../operator/operator-store.ts'
import { isSameTokenName } from '../../operator/token-name.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { quoted } from '../../platform/quoted.ts'
import { deleteApplication, deleteCollector, deleteDataset, refuseIfBeingDeleted } from './delete-owner.ts'
import { ownerColumns, ownerTable } from './key-owners.ts'
import type { Tables } from './tables.ts'
import { anyLanguage, awaitAllVectors } from './vector-queue.ts'

/** Writes one change. A change that would have no effect writes nothing and returns `unchanged`. */
export async function applyChange(db: Kysely<Tables>, change: Change, nowMs: number): Promise<ChangeOutcome> {
  switch (change.kind) {
    case 'dataset.put':
      await refuseIfBeingDeleted(db, change.datasetId)
      return put(
        db,
        'dataset',
        { dataset_id: change.datasetId },
        {
          name: change.name,
          description: change.description,
          ...(change.retainDays === undefined ? {} : { retain_days: change.retainDays }),
        },
        nowMs,
      )
    case 'dataset.delete':
      await mustExist(db, 'dataset', 'dataset_id', change.datasetId)
      await deleteDataset(db, change.datasetId)
      return 'updated'
    case 'classification.put':
      await mustExist(db, 'dataset', 'dataset_id', change.datasetId)
      return put(
        db,
        'classification',
        { dataset_id: change.datasetId, code: change.code },
        {
          name: change.name,
          description: change.description,
          label_schema: JSON.stringify(change.labelSchema),
          active: change.active ? 1 : 0,
        },
        nowMs,
      )
    case 'profile.put':
      return putProfile(db, change, nowMs)
    case 'profiles.make':
      return makeProfiles(db, change)
    case 'application.create':
      await db
        .insertInto('application')
        .values({
          application_id: change.applicationId,
          name: change.name,
          policy: JSON.stringify(change.policy),
          created_at: nowMs,
          updated_at: nowMs,
        })
        .execute()
      return 'created'
    case 'application.update': {
      const row = await mustExist(db, 'application', 'application_id', change.applicationId)
      if (change.policyBefore !== undefined && !isDeepStrictEqual(JSON.parse(row.policy), change.policyBefore)) {
        throw new TidemarkError('conflict', `the policy of ${change.applicationId} was changed at the same time`)
      }
      const name = change.name ?? row.name
      const policy = change.policy === undefined ? row.policy : JSON.stringify(change.policy)
      if (name === row.name && isDeepStrictEqual(JSON.parse(policy), JSON.parse(row.policy))) return 'unchanged'
      await db
        .updateTable('application')
        .set({ name, policy, updated_at: nowMs })
        .where('application_id', '=', change.applicationId)
        .execute()
      return 'updated'
    }
    case 'application.delete':
      await mustExist(db, 'application', 'application_id', change.applicationId)
      await deleteApplication(db, change.applicationId, change.force, nowMs)
      return 'updated'
    case 'collector.delete':
      await mustExist(db, 'collector', 'collector_id', change.collectorId)
      await deleteCollector(db, change.collectorId, change.force, nowMs)
      return 'updated'
    case 'entitlements.put':
      return putEntitlements(db, change, nowMs)
    case 'collector.create':
      await db
        .insertInto('collector')
        .values({
          collector_id: change.collectorId,
          name: change.name,
          datasets: change.datasets === null ? null : JSON.stringify(change.datasets),
          created_at: nowMs,
        })
        .execute()
      return 'created'
    case 'key.create':
      if (change.owner.kind === 'admin') await refuseTakenName(db, change, nowMs)
      await insertKey(db, change, nowMs)
      return 'created'
    case 'key.revoke': {
      const row = await mustExist(db, 'api_key', 'key_id', change.keyId)
      if (row.revoked_at !== null) return 'unchanged'
      await db
        .updateTable('api_key')
        .set({ revoked_at: change.revokedAt ?? nowMs })
        .where('key_id', '=', change.keyId)
        .execute()
      return 'updated'
    }
    case 'key.rotate': {
      const row = await mustExist(db, 'api_key', 'key_id', change.keyId)
      if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= nowMs)) {
        throw new TidemarkError('conflict', `key ${change.keyId} is revoked or expired: create a new key instead`)
      }
      await insertKey(db, change.replacement, nowMs)
      const expires_at = Math.min(row.expires_at ?? Number.MAX_SAFE_INTEGER, change.oldExpiresAt)
      await db.updateTable('api_key').set({ expires_at }).where('key_id', '=', change.keyId).execute()
      return 'updated'
    }
    case 'key.expire': {
      const row = await mustExist(db, 'api_key', 'key_id', change.keyId)
      if (row.expires_at !== null && row.expires_at <= change.expiresAt) return 'unchanged'
      const expires_at = change.expiresAt
      await db.updateTable('api_key').set({ expires_at }).where('key_id', '=', change.keyId).execute()
      return 'updated'
    }
    case 'admin_token.replace':
    case 'instance.restore':
    case 'backup.record':
      return 'updated'
  }
}

type PutTable = 'dataset' | 'classification' | 'embedding_profile'

async function put(
  db: Kysely<Tables>,
  table: PutTable,
  key: Record<string, string>,
  values: Record<string, string | number | null>,
  nowMs: number,
): Promise<ChangeOutcome> {
  // The three tables share their shape (key, values, created_at, updated_at) but not a static type.
  const loose = db as unknown as Kysely<Record<PutTable, Record<string, string | number | null>>>
  let query = loose.selectFrom(table).selectAll()
  for (const [column, value] of Object.entries(key)) query = query.where(column, '=', value)
  const row = await query.executeTakeFirst()
  if (row === undefined) {
    await loose
      .insertInto(table)
      .values({ ...key, ...values, created_at: nowMs, updated_at: nowMs })
      .execute()
    return 'created'
  }
  if (Object.entries(values).every(([column, value]) => row[column] === value)) return 'unchanged'
  let update = loose.updateTable(table).set({ ...values, updated_at: nowMs })
  for (const [column, value] of Object.entries(key)) update = update.where(column, '=', value)
  await update.execute()
  return 'updated'
}

async function putProfile(
  db: Kysely<Tables>,
  change: Extract<Change, { kind: 'profile.put' }>,
  nowMs: number,
): Promise<ChangeOutcome> {
  const existing = await db
    .selectFrom('embedding_profile')
    .select(['is_default', 'dimensions', 'vectors_for'])
    .where('profile_id', '=', change.profileId)
    .executeTakeFirst()
  if (existing?.dimensions != null && change.dimensions !== null && existing.dimensions !== change.dimensions) {
    throw new TidemarkError(
      'conflict',
      `profile ${change.profileId} has ${existing.dimensions} dimensions, which cannot change: create a profile with another ID for ${change.dimensions} dimensions`,
    )
  }
  const isDefault = change.isDefault ?? existing?.is_default === 1
  if (isDefault && existing?.is_default !== 1) {
    await db.updateTable('embedding_profile').set({ is_default: 0, vectors_for: null }).execute()
    await awaitAllVectors(db, { profileId: change.profileId, languages: null })
  }
  return put(
    db,
    'embedding_profile',
    { profile_id: change.profileId },
    {
      provider: change.provider,
      model: change.model,
      dimensions: change.dimensions ?? existing?.dimensions ?? null,
      status: change.status,
      is_default: isDefault ? 1 : 0,
      vectors_for: isDefault ? anyLanguage : (existing?.vectors_for ?? null),
    },
    nowMs,
  )
}

async function makeProfiles(
  db: Kysely<Tables>,
  { profiles }: Extract<Change, { kind: 'profiles.make' }>,
): Promise<ChangeOutcome> {
  const rows = await db
    .selectFrom('embedding_profile')
    .select(['profile_id', 'vectors_for'])
    .where('is_default', '=', 0)
    .execute()
  let outcome: ChangeOutcome = 'unchanged'
  for (const row of rows) {
    const made = profiles.find(({ profileId }) => profileId === row.profile_id)
    const vectorsFor = made === undefined ? null : (made.languages?.join(',') ?? anyLanguage)
    if (vectorsFor === row.vectors_for) continue
    outcome = 'updated'
    await db
      .updateTable('embedding_profile')
      .set({ vectors_for: vectorsFor })
      .where('profile_id', '=', row.profile_id)
      .execute()
    if (made !== undefined) await awaitAllVectors(db, made)
  }
  return outcome
}

async function putEntitlements(
  db: Kysely<Tables>,
  change: Extract<Change, { kind: 'entitlements.put' }>,
  nowMs: number,
): Promise<ChangeOutcome> {
  await mustExist(db, 'application', 'application_id', change.applicationId)
  const rows = await db
    .selectFrom('entitlement')
    .selectAll()
    .where('application_id', '=', change.applicationId)
    .orderBy('position')
    .execute()
  const same = isDeepStrictEqual(
    rows.map((row) => JSON.parse(row.entry)),
    change.entitlements.map((entry) => JSON.parse(JSON.stringify(entry))),
  )
  if (same) return 'unchanged'
  await db.deleteFrom('entitlement').where('application_id', '=', change.applicationId).execute()
  for (const [position, entry] of change.entitlements.entries()) {
    await db
      .insertInto('entitlement')
      .values({
        entitlement_id: newId('ent', nowMs),
        application_id: change.applicationId,
        position,
        entry: JSON.stringify(entry),
      })
      .execute()
  }
  await db
    .updateTable('application')
    .set({ updated_at: nowMs })
    .where('application_id', '=', change.applicationId)
    .execute()
  return 'updated'
}

async function insertKey(db: Kysely<Tables>, key: NewKey, nowMs: number): Promise<void> {
  const table = ownerTable(key.owner.kind)
  if (table !== null) await mustExist(db, table, `${table}_id`, key.owner.id)
  await db
    .insertInto('api_key')
    .values({
      key_id: key.keyId,
      ...ownerColumns(key.owner),
      rights: key.rights === null ? null : JSON.stringify(key.rights),
      name: key.name,
      prefix: key.prefix,
      hash: key.hash,
      created_at: nowMs,
      expires_at: key.expiresAt,
      revoked_at: null,
      last_used_at: null,
    })
    .execute()
}

/** The audit log names administrators, so two valid tokens must not have the same name. */
async function refuseTakenName(db: Kysely<Tables>, { name }: NewKey, nowMs: number): Promise<void> {
  const valid = await db
    .selectFrom('api_key')
    .select(['key_id', 'name'])
    .where('owner_kind', '=', 'admin')
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .execute()
  const taken = valid.find((one) => [one.name ?? '', one.key_id].some((other) => isSameTokenName(other, name ?? '')))
  if (taken === undefined) return
  throw new TidemarkError(
    'conflict',
    `the admin token ${JSON.stringify(taken.name)} (${taken.key_id}) already uses this name: choose another name, or revoke that token first`,
  )
}

const nouns = { dataset: 'dataset', application: 'application', collector: 'collector', api_key: 'key' } as const

async function mustExist<Table extends keyof typeof nouns>(
  db: Kysely<Tables>,
  table: Table,
  column: string,
  id: string,
): Promise<Tables[Table]> {
  const loose = db as unknown as Kysely<{ any_table: Record<string, string> }>
  const row = await loose
    .selectFrom(table as unknown as 'any_table')
    .selectAll()
    .where(column, '=', id)
    .executeTakeFirst()
  if (row === undefined) throw new TidemarkError('not_found', `there is no ${nouns[table]} ${quoted(id)}`)
  return row as unknown as Tables[Table]
}
