import type { Migration } from './migration.ts'

/**
 * Erasure jobs, the documents that each has erased, and how far the copies of the search index are purged of them.
 *
 * Breaking: a process that does not know erasures would reuse revisions of erased documents, ingest erased documents
 * again, and still find them.
 */
export const erasure: Migration = {
  number: 13,
  name: 'erasure',
  breaking: true,
  async up(db, dialect) {
    await db.schema
      .createTable('erasure')
      .addColumn('erasure_id', 'text', (column) => column.primaryKey())
      .addColumn('actor', 'text', (column) => column.notNull())
      .addColumn('selection', 'text')
      .addColumn('documents', 'bigint', (column) => column.notNull())
      .addColumn('keep_tombstones', 'smallint', (column) => column.notNull())
      .addColumn('purge_artifacts', 'smallint', (column) => column.notNull())
      .addColumn('artifact_run_ids', 'text', (column) => column.notNull())
      .addColumn('deletes_dataset', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('completed_at', 'bigint')
      .execute()
    await db.schema.createIndex('erasure_by_status').on('erasure').columns(['status', 'erasure_id']).execute()

    await db.schema
      .createTable('erased_document')
      .addColumn('document_id', 'text', (column) => column.primaryKey())
      .addColumn('erasure_id', 'text', (column) => column.notNull())
      .addColumn('index_revision', 'bigint', (column) => column.notNull())
      .addColumn('tombstone', 'text')
      .addColumn('remains', 'smallint')
      .execute()
    const indexes: Record<string, string[]> = {
      erased_document_by_erasure: ['erasure_id', 'remains', 'document_id'],
      erased_document_by_revision: ['index_revision'],
      erased_document_by_tombstone: ['tombstone'],
    }
    for (const [name, columns] of Object.entries(indexes)) {
      await db.schema.createIndex(name).on('erased_document').columns(columns).execute()
    }
    await db.schema
      .createTable('tombstone_key')
      .addColumn('one', 'smallint', (column) => column.primaryKey())
      .addColumn('secret', 'text', (column) => column.notNull())
      .execute()
    await dialect
      .forgettable(db.schema.createTable('index_copy'))
      .addColumn('copy_id', 'text', (column) => column.primaryKey())
      .addColumn('purged_through', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute()

    // Live items are kept only for some days, so this index is small.
    await db.schema.createIndex('live_item_by_document').on('live_item').column('document_id').execute()
    await db.schema.alterTable('dataset').addColumn('retain_days', 'integer').execute()
    await db.schema.alterTable('dataset').addColumn('hidden_by', 'text').execute()
  },
}
