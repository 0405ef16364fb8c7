import type { Migration } from './migration.ts'

/**
 * Vectors of several profiles, each for the languages that its model supports. Chunks with the same text are recorded,
 * so that its vector is made once. Older chunks have no hash, and their vectors are made one by one as before.
 */
export const vectorProfiles: Migration = {
  number: 10,
  name: 'vector-profiles',
  breaking: false,
  async up(db, dialect) {
    await db.schema.alterTable('embedding_profile').addColumn('vectors_for', 'text').execute()
    await db.updateTable('embedding_profile').set({ vectors_for: '*' }).where('is_default', '=', 1).execute()
    await db.schema.alterTable('chunk').addColumn('text_hash', 'text').execute()
    await dialect
      .storedByKey(
        db.schema
          .createTable('text_chunk')
          .addColumn('text_hash', 'text', (column) => column.notNull())
          .addColumn('chunk_id', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('text_chunk_pk', ['text_hash', 'chunk_id']),
      )
      .execute()
  },
}
