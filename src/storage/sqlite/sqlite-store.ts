import { sqlHistoryStore } from '../sql/history-store.ts'
import { type Store, sqlStore } from '../sql/sql-store.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import type { SqliteConnection } from './node-sqlite.ts'

export const sqliteStore = (connection: SqliteConnection): Store => ({
  ...sqlStore(connection.db),
  history: sqlHistoryStore(connection.db, sqliteMigrationDialect),
})
