import { sql } from '../sql/kysely.ts'
import type { MigrationDialect } from '../sql/migrations/migration.ts'

export const sqliteMigrationDialect: MigrationDialect = {
  ascendingKey: (table, column) =>
    table.addColumn(column, 'integer', (key) => key.primaryKey().autoIncrement()) as never,
  bytes: 'blob',
  storedByKey: (table) => table.modifyEnd(sql`without rowid`),
  forgettable: (table) => table,
  async hasTable(db, name) {
    const found = await sql`select 1 from sqlite_master where type = 'table' and name = ${name}`.execute(db)
    return found.rows.length > 0
  },
}
