import { pathToFileURL } from 'node:url'
import { isThere } from '../../platform/is-there.ts'
import { migrate, newestMigration, noSchema, readSchema, refuseTooNew, type Schema } from '../sql/migrate.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'
import { markOverwritten } from './scrub.ts'

/**
 * Reads the schema of the store at a path without writing, because opening a newer file for writing could already
 * change it. If no write-ahead log is left, the file is opened as immutable, because even a reading connection creates
 * files beside a database in WAL mode.
 */
export async function sqliteSchema(path: string): Promise<Schema> {
  if (!isThere(path)) return noSchema
  const untouched = pathToFileURL(path)
  untouched.searchParams.set('immutable', '1')
  const { raw, db } = openSqlite(isThere(`${path}-wal`) ? path : untouched, true)
  try {
    return await readSchema(db, sqliteMigrationDialect)
  } finally {
    raw.close()
  }
}

/** Creates the store if it is missing. Returns the applied migrations. */
export async function bringUpToDate(path: string): Promise<readonly string[]> {
  // This check may fail on a file that another process is just creating. The check under the lock below does not.
  const found = await sqliteSchema(path).catch(() => noSchema)
  refuseTooNew(found)
  // Most starts find nothing to apply, so a command does not wait for the writes of a server.
  if (found.newest >= newestMigration) return []
  const { raw, db } = openSqlite(path, false)
  try {
    raw.exec('begin exclusive')
    try {
      if ((await readSchema(db, sqliteMigrationDialect)).newest === noSchema.newest) markOverwritten(raw)
      const applied = await migrate(db, sqliteMigrationDialect, Date.now())
      raw.exec('commit')
      return applied
    } catch (error) {
      raw.exec('rollback')
      throw error
    }
  } finally {
    raw.close()
  }
}
