import { type Kysely, sql } from 'kysely'
import { UnusableStoreError } from '../open-store.ts'
import { migrations } from './migrations/index.ts'
import type { MigrationDialect } from './migrations/migration.ts'
import type { Tables } from './tables.ts'

/** The store was written by a newer version: it must be left exactly as it is. */
export class NewerStoreError extends UnusableStoreError {
  constructor(found: number) {
    super(
      `the data was written by a newer version of Tidemark (schema ${found}, this version knows ${newestMigration}): ` +
        'start that version, or restore a backup made before the upgrade',
    )
    this.name = 'NewerStoreError'
  }
}

export const newestMigration = migrations.at(-1)?.number ?? 0

interface WithMigrations extends Tables {
  schema_migration: { number: number; name: string; applied_at: number }
}

/** The number of the newest applied migration; 0 for an empty store. Writes nothing. */
export async function schemaNumber(db: Kysely<Tables>, dialect: MigrationDialect): Promise<number> {
  if (!(await dialect.hasTable(db, 'schema_migration'))) return 0
  const row = await (db as unknown as Kysely<WithMigrations>)
    .selectFrom('schema_migration')
    .select(({ fn }) => fn.max('number').as('number'))
    .executeTakeFirst()
  return Number(row?.number ?? 0)
}

/**
 * Brings the store to the newest schema inside the caller's exclusive transaction, so that of two processes that start
 * at once one does it and the other finds it done. Returns what was applied.
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: MigrationDialect,
  nowMs: number,
): Promise<readonly string[]> {
  const found = await schemaNumber(db, dialect)
  if (found > newestMigration) throw new NewerStoreError(found)
  if (found === 0) {
    await sql`create table if not exists schema_migration (number integer primary key, name text not null, applied_at bigint not null)`.execute(
      db,
    )
  }
  const pending = migrations.filter((migration) => migration.number > found)
  for (const migration of pending) {
    await migration.up(db, dialect)
    await (db as unknown as Kysely<WithMigrations>)
      .insertInto('schema_migration')
      .values({ number: migration.number, name: migration.name, applied_at: nowMs })
      .execute()
  }
  return pending.map((migration) => migration.name)
}
