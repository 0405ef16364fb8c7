import { sql } from 'kysely'
import type { MigrationDialect } from '../sql/migrations/migration.ts'

export const sqliteMigrationDialect: MigrationDialect = {
  ascendingKey: (table, column) =>
    table.addColumn(column, 'integer', (key) => key.primaryKey().autoIncrement()) as never,
  bytes: 'blob',
  storedByKey: (table) => table.modifyEnd(sql`without rowid`),
}
