import type { Migration } from './migration.ts'

/**
 * The detected rollbacks of the store, and the time up to which the clock was trusted. Processes of an older version
 * need neither.
 */
export const history: Migration = {
  number: 17,
  name: 'history',
  breaking: false,
  async up(db) {
    await db.schema
      .createTable('history')
      .addColumn('history_id', 'text', (column) => column.primaryKey())
      .addColumn('noticed_at', 'bigint', (column) => column.notNull())
      .addColumn('why', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('clock')
      .addColumn('one', 'integer', (column) => column.primaryKey())
      .addColumn('believed_until', 'bigint', (column) => column.notNull())
      .execute()
  },
}
