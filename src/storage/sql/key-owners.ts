import type { Kysely } from 'kysely'
import type { KeyOwner, OwnerId } from '../../access/principal.ts'
import { scopeEntryOf } from '../../access/scope-entry-of.ts'
import { storedDatasets, storedEntitlement, storedPolicy, storedRole } from '../../access/stored-rights.ts'
import type { ApiKeyRow, Tables } from './tables.ts'
import { together } from './together.ts'

/** The tables of owners. A key of any other kind has no owner, and its own row says what it may do. */
const ownerTables = { consumer: 'application', collector: 'collector' } as const

export function ownerTable(kind: string): (typeof ownerTables)[keyof typeof ownerTables] | null {
  return Object.hasOwn(ownerTables, kind) ? ownerTables[kind as keyof typeof ownerTables] : null
}

/** The columns in which older versions, which know only these kinds, find the owner. */
const olderColumns = { consumer: 'application_id', collector: 'collector_id' } as const
const olderKinds = Object.keys(olderColumns) as (keyof typeof olderColumns)[]

/**
 * A key of an older version has its owner only in the column of its kind. An older version may still make such keys
 * during an upgrade.
 */
export function ownerOf(row: ApiKeyRow): OwnerId {
  if (row.owner_kind !== null) return { kind: row.owner_kind, id: row.owner_id! }
  const kind = olderKinds.find((one) => row[olderColumns[one]] !== null)!
  return { kind, id: row[olderColumns[kind]]! }
}

export function ownerColumns({ kind, id }: OwnerId) {
  const ofKind = (one: keyof typeof olderColumns) => (one === kind ? id : null)
  return {
    owner_kind: kind,
    owner_id: id,
    [olderColumns.consumer]: ofKind('consumer'),
    [olderColumns.collector]: ofKind('collector'),
  }
}

type OwnerReaders = {
  readonly [Kind in KeyOwner['kind']]: (
    ownerId: string,
    key: ApiKeyRow,
  ) => Promise<Extract<KeyOwner, { kind: Kind }> | null>
}

/** Null for a key of a kind that only a newer version knows, or whose owner is deleted. Such a key gives no access. */
export async function readOwner(db: Kysely<Tables>, key: ApiKeyRow): Promise<KeyOwner | null> {
  const { kind, id } = ownerOf(key)
  const readers: OwnerReaders = {
    consumer: (applicationId) => readApplication(db, applicationId),
    collector: (collectorId) => readCollector(db, collectorId),
    admin: async (_tokenId, { name, rights, key_id }) => ({ kind: 'admin', name, role: storedRole(rights, key_id) }),
  }
  return Object.hasOwn(readers, kind) ? readers[kind as KeyOwner['kind']](id, key) : null
}

/** Takes one round trip on PostgreSQL, because a request waits for it. */
async function readApplication(db: Kysely<Tables>, applicationId: string) {
  const [application, rows, hidden] = await together(db, [
    () => db.selectFrom('application').selectAll().where('application_id', '=', applicationId).executeTakeFirst(),
    () =>
      db
        .selectFrom('entitlement')
        .selectAll()
        .where('application_id', '=', applicationId)
        .orderBy('position')
        .execute(),
    () => db.selectFrom('dataset').select('dataset_id').where('hidden_by', 'is not', null).execute(),
  ])
  if (application === undefined) return null
  const entitlements = rows.map((row) => ({
    entitlement_id: row.entitlement_id,
    ...storedEntitlement(row.entry, row.entitlement_id),
  }))
  return {
    kind: 'consumer' as const,
    applicationId,
    name: application.name,
    policy: storedPolicy(application.policy, applicationId),
    entitlements,
    entries: entitlements.map(scopeEntryOf),
    hiddenDatasets: hidden.map((row) => row.dataset_id),
  }
}

async function readCollector(db: Kysely<Tables>, collectorId: string) {
  const row = await db.selectFrom('collector').selectAll().where('collector_id', '=', collectorId).executeTakeFirst()
  if (row === undefined) return null
  return {
    kind: 'collector' as const,
    collectorId,
    name: row.name,
    datasets: storedDatasets(row.datasets, collectorId),
  }
}
