import type { Migration } from './migration.ts'

/** Chunks that need no vector, chunks that cannot get one, and the input of an analysis run. */
export const vectors: Migration = {
  number: 7,
  name: 'vectors',
  breaking: false,
  async up(db, dialect) {
    await db.schema.alterTable('chunk').addColumn('replaced', 'smallint').execute()
    await dialect
      .storedByKey(
        db.schema
          .createTable('refused_vector')
          .addColumn('profile_id', 'text', (column) => column.notNull())
          .addColumn('chunk_id', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('refused_vector_pk', ['profile_id', 'chunk_id']),
      )
      .execute()
    await db.schema.alterTable('analysis_run').addColumn('input', 'text').execute()
    await db.schema.alterTable('analysis_run').addColumn('warnings', 'text').execute()
  },
}
