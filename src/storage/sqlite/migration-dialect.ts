import { sql } from 'kysely'
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
  async skipNumbers(db, table, _column, count) {
    const skipped = await sql`update sqlite_sequence set seq = seq + ${count} where name = ${table}`.execute(db)
    // `sqlite_sequence` has no row for a table before its first insert.
    if (skipped.numAffectedRows === 0n) {
      await sql`insert into sqlite_sequence (name, seq) values (${table}, ${count})`.execute(db)
    }
  },
}
