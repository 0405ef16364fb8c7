import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { migrate, newestMigration, noSchema, readSchema, refuseBeyond, type Schema } from '../sql/migrate.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'
import { markOverwritten } from './scrub.ts'

/**
 * The schema of the store at a path. Looks without writing: opening a newer file for writing could already change it.
 * Where no process left a write-ahead log, the file is opened as immutable, because even a reading connection makes files
 * beside one that uses such a log.
 */
export async function sqliteSchema(path: string): Promise<Schema> {
  if (!existsSync(path)) return noSchema
  const untouched = pathToFileURL(path)
  untouched.searchParams.set('immutable', '1')
  const { raw, db } = openSqlite(existsSync(`${path}-wal`) ? path : untouched, true)
  try {
    return await readSchema(db, sqliteMigrationDialect)
  } finally {
    raw.close()
  }
}

/** Makes the store where there is none. Returns what was applied. */
export async function bringUpToDate(path: string): Promise<readonly string[]> {
  // A look at a file that another process just begins to write may fail; the one below, under a lock, will not.
  const found = await sqliteSchema(path).catch(() => noSchema)
  refuseBeyond(found)
  // Most starts find nothing to do, and a command need not wait for what a server writes.
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
