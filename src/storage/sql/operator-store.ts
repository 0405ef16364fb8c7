import type { Kysely } from 'kysely'
import type {
  AuditMark,
  Change,
  ChangeOutcome,
  Condition,
  NewKey,
  OperatorStore,
} from '../../operator/operator-store.ts'
import { tagOf } from '../../operator/record-tag.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { applyChange } from './apply-change.ts'
import { newAuditId } from './audit-erasure.ts'
import { isNotBeingDeleted } from './datasets-being-deleted.ts'
import { keepClaim } from './kept-claims.ts'
import { ownerOf, ownerTable } from './key-owners.ts'
import type { Tables } from './tables.ts'

/** The changes that may carry a condition (`ifTag`). */
type Conditional<One> = One extends unknown ? ('ifTag' extends keyof One ? One : never) : never

export function sqlOperatorStore(db: Kysely<Tables>): OperatorStore {
  const store: OperatorStore = {
    async commit(changes, mark, claim) {
      await keepClaim(db, claim, mark.at)
      const outcomes: ChangeOutcome[] = []
      for (const change of changes) {
        await refuseOutdated(change)
        const outcome = await applyChange(db, change, mark.at)
        if (outcome !== 'unchanged') await writeAudit(db, change, mark)
        outcomes.push(outcome)
      }
      return outcomes
    },

    async datasets() {
      const rows = await db.selectFrom('dataset').selectAll().where(isNotBeingDeleted).orderBy('dataset_id').execute()
      return rows.map((row) => ({
        datasetId: row.dataset_id,
        name: row.name,
        description: row.description,
        retainDays: row.retain_days,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      }))
    },

    async classifications(datasetId) {
      let query = db.selectFrom('classification').selectAll().orderBy('dataset_id').orderBy('code')
      if (datasetId !== null) query = query.where('dataset_id', '=', datasetId)
      return (await query.execute()).map((row) => ({
        datasetId: row.dataset_id,
        code: row.code,
        name: row.name,
        description: row.description,
        labelSchema: JSON.parse(row.label_schema),
        active: row.active === 1,
      }))
    },

    async embeddingProfiles() {
      const rows = await db.selectFrom('embedding_profile').selectAll().orderBy('profile_id').execute()
      return rows.map((row) => ({
        profileId: row.profile_id,
        provider: row.provider,
        model: row.model,
        dimensions: row.dimensions,
        status: row.status === 'active' ? 'active' : 'inactive',
        isDefault: row.is_default === 1,
      }))
    },

    applications: () => applications(null),
    application: async (applicationId) => (await applications(applicationId))[0] ?? null,
    keys: ({ ownerId }) =>
      keys((query) =>
        ownerId === undefined
          ? query
          : query.where(({ eb, or }) =>
              or([eb('owner_id', '=', ownerId), eb('application_id', '=', ownerId), eb('collector_id', '=', ownerId)]),
            ),
      ),
    key: async (keyId) => (await keys((query) => query.where('key_id', '=', keyId)))[0] ?? null,

    async collectors() {
      const rows = await db.selectFrom('collector').selectAll().orderBy('collector_id').execute()
      return rows.map((row) => ({
        collectorId: row.collector_id,
        name: row.name,
        datasets: row.datasets === null ? null : JSON.parse(row.datasets),
        createdAt: row.created_at,
      }))
    },

    async usage({ fromDay, toDay, applicationId }) {
      let query = db
        .selectFrom('usage')
        .selectAll()
        .where('day', '>=', fromDay)
        .where('day', '<=', toDay)
        .orderBy('day', 'desc')
        .orderBy('application_id')
        .orderBy('operation')
      if (applicationId !== null) query = query.where('application_id', '=', applicationId)
      return (await query.execute()).map((row) => ({
        applicationId: row.application_id,
        day: row.day,
        operation: row.operation,
        used: row.used,
      }))
    },

    async recordedBackups() {
      const lastOf = async (outcome: 'made' | 'failed'): Promise<number | null> => {
        const newest = await db
          .selectFrom('audit')
          .select('at')
          .where('action', '=', 'backup.record')
          .where('target', '=', outcome)
          .orderBy('audit_id', 'desc')
          .limit(1)
          .executeTakeFirst()
        return newest?.at ?? null
      }
      const [madeAt, failedAt] = [await lastOf('made'), await lastOf('failed')]
      return { madeAt, failedAt: failedAt !== null && failedAt > (madeAt ?? 0) ? failedAt : null }
    },

    async audit({ before, limit }) {
      let query = db.selectFrom('audit').selectAll().orderBy('audit_id', 'desc').limit(limit)
      if (before !== null) query = query.where('audit_id', '<', before)
      return (await query.execute()).map((row) => ({
        auditId: row.audit_id,
        at: row.at,
        actor: row.actor,
        action: row.action,
        target: row.target,
        detail: JSON.parse(row.detail),
      }))
    },
  }
  return store

  /** Optimistic locking: refuses a change whose tag is not that of the current record. */
  async function refuseOutdated(change: Change): Promise<void> {
    if (!('ifTag' in change) || change.ifTag === undefined) return
    const current = await recordOf(change)
    if (current !== null && tagOf(current) === change.ifTag) return
    const target = JSON.stringify(targetOf(change))
    const message = current === null ? `${target} no longer exists` : `${target} was changed since it was read`
    throw new TidemarkError('precondition_failed', `${message}: nothing was written`)
  }

  async function recordOf(change: Conditional<Change>): Promise<object | null> {
    switch (change.kind) {
      case 'application.update':
      case 'entitlements.put':
        return store.application(change.applicationId)
      case 'dataset.put':
        return (await store.datasets()).find((one) => one.datasetId === change.datasetId) ?? null
      case 'classification.put':
        return (await store.classifications(change.datasetId)).find((one) => one.code === change.code) ?? null
      case 'profile.put':
        return (await store.embeddingProfiles()).find((one) => one.profileId === change.profileId) ?? null
    }
  }

  async function applications(applicationId: string | null) {
    let query = db.selectFrom('application').selectAll().orderBy('application_id')
    let entries = db.selectFrom('entitlement').selectAll().orderBy('application_id').orderBy('position')
    if (applicationId !== null) {
      query = query.where('application_id', '=', applicationId)
      entries = entries.where('application_id', '=', applicationId)
    }
    const entitlements = Map.groupBy(await entries.execute(), (row) => row.application_id)
    return (await query.execute()).map((row) => ({
      applicationId: row.application_id,
      name: row.name,
      policy: JSON.parse(row.policy),
      entitlements: (entitlements.get(row.application_id) ?? []).map((entry) => ({
        entitlement_id: entry.entitlement_id,
        ...JSON.parse(entry.entry),
      })),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }))
  }

  async function keys(narrow: (query: ReturnType<typeof everyKey>) => ReturnType<typeof everyKey>) {
    return (await narrow(everyKey()).execute()).map((row) => ({
      keyId: row.key_id,
      owner: ownerOf(row),
      rights: row.rights === null ? null : JSON.parse(row.rights),
      name: row.name,
      prefix: row.prefix,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      lastUsedAt: row.last_used_at,
    }))
  }

  function everyKey() {
    return db.selectFrom('api_key').selectAll().orderBy('key_id')
  }
}

async function writeAudit(db: Kysely<Tables>, change: Change, mark: AuditMark): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      audit_id: await newAuditId(db, mark.at),
      at: mark.at,
      actor: mark.actor,
      action: change.kind,
      target: targetOf(change),
      detail: JSON.stringify(detailOf(change)),
    })
    .execute()
}

/** The change itself, without the hash of a key and without its condition. */
function detailOf(change: Change): object {
  const { kind: _, ifTag: _made, ...detail } = change as Change & Condition
  if (change.kind === 'key.create') return auditedKey(change)
  if (change.kind === 'key.rotate') return { ...detail, replacement: auditedKey(change.replacement) }
  return detail
}

/** Also records the owner's id under its own name, as entries did before keys had a kind of owner. */
function auditedKey({ keyId, owner, rights, name, prefix, expiresAt }: NewKey): object {
  const table = ownerTable(owner.kind)
  return {
    keyId,
    owner: { ...(table === null ? {} : { [`${table}Id`]: owner.id }), ...owner },
    ...(rights === null ? {} : { rights }),
    name,
    prefix,
    expiresAt,
  }
}

function targetOf(change: Change): string {
  switch (change.kind) {
    case 'dataset.put':
    case 'dataset.delete':
      return change.datasetId
    case 'classification.put':
      return `${change.datasetId}/${change.code}`
    case 'profile.put':
      return change.profileId
    case 'profiles.make':
      return change.profiles.map(({ profileId }) => profileId).join(',')
    case 'application.create':
    case 'application.update':
    case 'application.delete':
    case 'entitlements.put':
      return change.applicationId
    case 'collector.create':
    case 'collector.delete':
      return change.collectorId
    case 'key.create':
    case 'key.revoke':
    case 'key.rotate':
    case 'key.expire':
      return change.keyId
    case 'admin_token.replace':
      return 'admin'
    case 'instance.restore':
      return 'instance'
    case 'backup.record':
      return change.outcome
  }
}
