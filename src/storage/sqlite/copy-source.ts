import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { CopyError } from '../../operator/copy-instance.ts'
import type { OpenCopySource } from '../backend.ts'
import { NewerStoreError } from '../open-store.ts'
import { newestMigration, readSchema } from '../sql/migrate.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { isBusy, openSqlite, queriesOn, type SqliteConnection } from './node-sqlite.ts'

/** Opens the store at a path to read one snapshot of it. A server that has it open can continue to read and write. */
export async function openCopySource(path: string): Promise<OpenCopySource> {
  const held = openExclusively(path)
  const { raw, db } = held ?? openSqlite(path, true)
  try {
    if (held === null) raw.exec('begin')
    // The first read takes the snapshot.
    const schema = (await readSchema(db, sqliteMigrationDialect)).newest
    // Also refuses a newer schema that this version could work with, because it could not copy the new data.
    if (schema > newestMigration) throw new NewerStoreError(schema, newestMigration)
    if (schema < newestMigration) {
      throw new CopyError(
        `the store at ${path} was last used by an older version (schema ${schema}, this version's is ${newestMigration}): ` +
          'bring it up to date with tidemark migrate, or by serving it once',
      )
    }
  } catch (error) {
    raw.close()
    throw error
  }
  const value = (text: string, ...parameters: string[]): SQLOutputValue =>
    Object.values(raw.prepare(text).get(...parameters) ?? { none: null })[0]!
  return {
    alone: held !== null,
    tables: raw
      .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")
      .all()
      .map(({ name }) => String(name)),
    instance: value('select min(audit_id) from audit') as string | null,
    count: (table) => Number(value(`select count(*) from "${table}"`)),
    rows: ({ name, columns, key }) => {
      const statement = raw.prepare(`select ${quoted(columns)} from "${name}" order by ${quoted(key)}`)
      statement.setReturnArrays(true)
      return statement.iterate() as Iterable<unknown> as Iterable<readonly unknown[]>
    },
    lastNumber: (table) => Number(value('select seq from sqlite_sequence where name = ?', table) ?? 0),
    close: () => raw.close(),
  }
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/**
 * Opens the store and locks it, which needs the write-ahead log to be switched off. Returns null if another process has
 * the store open.
 */
function openExclusively(path: string): SqliteConnection | null {
  const raw = new DatabaseSync(path)
  try {
    raw.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    raw.close()
    if (isBusy(error)) return null
    throw error
  }
  return queriesOn(raw)
}
