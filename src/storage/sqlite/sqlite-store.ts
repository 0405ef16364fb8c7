import { type Store, sqlStore } from '../sql/sql-store.ts'
import type { SqliteConnection } from './node-sqlite.ts'
import { sqliteExportSource } from './sqlite-export-source.ts'

/** The store of every SQL dialect, and what SQLite can do better. */
export const sqliteStore = (connection: SqliteConnection): Store => ({
  ...sqlStore(connection.db),
  exportSource: sqliteExportSource(connection),
})
