import type { Migration } from './migration.ts'

/** Chunks and their vectors. The search index is built from them, and analysis uses them. */
export const indexing: Migration = {
  number: 3,
  name: 'indexing',
  breaking: false,
  async up(db, dialect) {
    await db.schema
      .createTable('chunk')
      .addColumn('chunk_id', 'text', (column) => column.primaryKey())
      .addColumn('document_id', 'text', (column) => column.notNull())
      .addColumn('version_id', 'text', (column) => column.notNull())
      .addColumn('ordinal', 'integer', (column) => column.notNull())
      .addColumn('starts_at', 'integer', (column) => column.notNull())
      .addColumn('ends_at', 'integer', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('chunk_by_version').on('chunk').columns(['version_id', 'ordinal']).execute()

    await dialect
      .storedByKey(
        db.schema
          .createTable('chunk_vector')
          .addColumn('profile_id', 'text', (column) => column.notNull())
          .addColumn('chunk_id', 'text', (column) => column.notNull())
          .addColumn('vector', dialect.bytes, (column) => column.notNull())
          .addPrimaryKeyConstraint('chunk_vector_pk', ['profile_id', 'chunk_id']),
      )
      .execute()
    await dialect
      .storedByKey(
        db.schema
          .createTable('pending_vector')
          .addColumn('profile_id', 'text', (column) => column.notNull())
          .addColumn('chunk_id', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('pending_vector_pk', ['profile_id', 'chunk_id']),
      )
      .execute()
  },
}
