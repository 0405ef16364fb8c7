import type { Migration } from './migration.ts'

/** State that several processes of one store share. */
export const sharing: Migration = {
  number: 6,
  name: 'sharing',
  breaking: false,
  async up(db, dialect) {
    await dialect
      .forgettable(db.schema.createTable('rate_bucket'))
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('tokens', 'double precision', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
  },
}
