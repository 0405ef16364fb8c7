import { type Kysely, sql } from 'kysely'
import { NewerStoreError } from '../open-store.ts'
import { migrations } from './migrations/index.ts'
import type { MigrationDialect } from './migrations/migration.ts'
import type { Tables } from './tables.ts'

export const newestMigration = migrations.at(-1)?.number ?? 0

/**
 * `schema_migration` records the applied migrations. `harmless_migration` records those that an older version can work
 * with; any other one counts as breaking.
 */
interface WithMigrations extends Tables {
  schema_migration: { number: number; name: string; applied_at: number }
  harmless_migration: { number: number }
}

/** The schema of a store. */
export interface Schema {
  /** The newest migration; 0 for an empty store. */
  readonly newest: number
  /** The newest migration that a version must know to work with the store. */
  readonly breaking: number
}

export const noSchema: Schema = { newest: 0, breaking: 0 }

/** Read-only. */
export async function readSchema(db: Kysely<Tables>, dialect: MigrationDialect): Promise<Schema> {
  const newestOf = async (isBreaking: boolean): Promise<number> => {
    let query = (db as unknown as Kysely<WithMigrations>)
      .selectFrom('schema_migration')
      .select(({ fn }) => fn.max('number').as('number'))
    if (isBreaking)
      query = query.where('number', 'not in', (eb) => eb.selectFrom('harmless_migration').select('number'))
    return Number((await query.executeTakeFirst())?.number ?? 0)
  }
  if (!(await dialect.hasTable(db, 'schema_migration'))) return noSchema
  const newest = await newestOf(false)
  const isMarked = await dialect.hasTable(db, 'harmless_migration')
  return { newest, breaking: isMarked ? await newestOf(true) : newest }
}

/** True if the store has a breaking migration that this version does not know. Newer harmless ones do not matter. */
export const isTooNew = ({ breaking }: Schema): boolean => breaking > newestMigration

export function refuseTooNew(schema: Schema): void {
  if (isTooNew(schema)) throw new NewerStoreError(schema.newest, newestMigration)
}

/**
 * Migrates the store to the newest schema, inside the caller's exclusive transaction. If two processes start at once,
 * one migrates and the other finds it done. Returns the names of the applied migrations.
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: MigrationDialect,
  nowMs: number,
): Promise<readonly string[]> {
  const schema = await readSchema(db, dialect)
  refuseTooNew(schema)
  const pending = migrations.filter((migration) => migration.number > schema.newest)
  if (pending.length === 0) return []
  await sql`create table if not exists schema_migration (number integer primary key, name text not null, applied_at bigint not null)`.execute(
    db,
  )
  await sql`create table if not exists harmless_migration (number integer primary key)`.execute(db)
  const record = db as unknown as Kysely<WithMigrations>
  for (const { number, name, breaking, up } of pending) {
    await up(db, dialect)
    await record.insertInto('schema_migration').values({ number, name, applied_at: nowMs }).execute()
    if (!breaking) await record.insertInto('harmless_migration').values({ number }).execute()
  }
  return pending.map(({ name }) => name)
}
