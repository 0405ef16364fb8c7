import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import { type Access, type CarriedOver, carryOver, isValid } from '../../operator/carry-over.ts'
import type { RestoredAccess } from '../../operator/restore-backup.ts'
import { skipPositions } from '../sql/history-store.ts'
import { migrate } from '../sql/migrate.ts'
import { sqlOperatorStore } from '../sql/operator-store.ts'
import type { Tables } from '../sql/tables.ts'
import { clearGaps } from './clear-gaps.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'
import { instanceOf, replayErasures } from './replay-erasures.ts'
import { scrub } from './scrub.ts'

/**
 * Prepares the restored store at `path` before it is put in place: brings the schema up to date, raises the numbers of
 * events and runs above all that were assigned, and repeats the revocations and erasures in the store at `replaced`.
 */
export async function prepareRestored(
  path: string,
  replaced: string,
  backupMadeAt: string,
  nowMs: number,
): Promise<RestoredAccess> {
  const access = await bringUpToDate(path, replaced, backupMadeAt, nowMs)
  if (access.erasedAgain !== 0) await clearGaps(path)
  return access
}

async function bringUpToDate(
  path: string,
  replaced: string,
  backupMadeAt: string,
  nowMs: number,
): Promise<RestoredAccess> {
  const { raw, db } = openSqlite(path, false)
  try {
    raw.exec('pragma journal_mode = delete')
    raw.exec('begin exclusive')
    await migrate(db, sqliteMigrationDialect, nowMs)
    await skipPositions(db, sqliteMigrationDialect)
    const access = await carryOverFrom(replaced, db, backupMadeAt, nowMs)
    const erasedAgain = 'carried' in access ? await replayErasures(replaced, db, nowMs) : null
    raw.exec('commit')
    if (erasedAgain !== 0) scrub(raw)
    return { ...access, erasedAgain, instance: await instanceOf(db) }
  } finally {
    raw.close()
  }
}

async function carryOverFrom(
  replaced: string,
  db: Kysely<Tables>,
  backupMadeAt: string,
  nowMs: number,
): Promise<KnownAccess> {
  const backup = await accessOf(db)
  const found = await accessIn(replaced, db)
  const { changes, carried } = 'access' in found ? carryOver(found.access, backup, nowMs) : nothingKnown
  const revived = (carried?.revivedKeys ?? backup.keys.filter((key) => isValid(key, nowMs))).map(({ keyId }) => keyId)
  const restore = { kind: 'instance.restore', backupMadeAt, compared: carried !== null, revived } as const
  await sqlOperatorStore(db).commit([...changes, restore], { actor: 'restore', at: nowMs })
  return 'access' in found ? { carried: carried! } : { unknown: found.unknown, validKeys: revived.length }
}

type KnownAccess = { readonly carried: CarriedOver } | { readonly unknown: string; readonly validKeys: number }

const nothingKnown = { changes: [], carried: null } as const

async function accessIn(
  path: string,
  newest: Kysely<Tables>,
): Promise<{ readonly access: Access } | { readonly unknown: string }> {
  if (!existsSync(path)) return { unknown: 'there was no store here before' }
  let raw: DatabaseSync | null = null
  try {
    const connection = openSqlite(path, true)
    raw = connection.raw
    for (const table of compared) {
      if ((await columnsOf(connection.db, table)) !== (await columnsOf(newest, table))) {
        return { unknown: 'the store that was here is of another version' }
      }
    }
    return { access: await accessOf(connection.db) }
  } catch (error) {
    // Not an error, because a backup is often restored to replace an unreadable store.
    return { unknown: `the store that was here cannot be read (${(error as Error).message})` }
  } finally {
    raw?.close()
  }
}

const compared = ['application', 'entitlement', 'collector', 'api_key', 'signing_key'] as const

async function accessOf(db: Kysely<Tables>): Promise<Access> {
  const operator = sqlOperatorStore(db)
  const signingKeys = await db.selectFrom('signing_key').select('key_id').execute()
  return {
    applications: await operator.applications(),
    collectors: await operator.collectors(),
    keys: await operator.keys({}),
    signingKeyIds: signingKeys.map((row) => row.key_id),
  }
}

async function columnsOf(db: Kysely<Tables>, table: (typeof compared)[number]): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(db)
  return rows
    .map(({ name }) => name)
    .sort()
    .join()
}
