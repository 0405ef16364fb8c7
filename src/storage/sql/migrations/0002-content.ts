import { sql } from 'kysely'
import { dayExpression, scoreBucketExpression } from '../buckets.ts'
import type { Migration } from './migration.ts'

/**
 * Documents with their versions, snapshots and facts, and the events of the change feed.
 *
 * A document's first-ingest time is part of its id, so "newest first, then id" is simply the order of `document_id`.
 * Every index that serves a listing ends in this column.
 */
export const content: Migration = {
  number: 2,
  name: 'content',
  breaking: false,
  async up(db, dialect) {
    await db.schema
      .createTable('document')
      .addColumn('document_id', 'text', (column) => column.primaryKey())
      .addColumn('dataset_id', 'text', (column) => column.notNull())
      .addColumn('source_platform', 'text', (column) => column.notNull())
      .addColumn('external_id', 'text', (column) => column.notNull())
      .addColumn('url', 'text')
      .addColumn('content_type', 'text')
      .addColumn('language', 'text')
      .addColumn('region', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('published_at', 'bigint')
      .addColumn('observed_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      // Columns that listings test come before columns that can be long, because a row is read from its start.
      .addColumn('external_author_id', 'text')
      .addColumn('score', 'bigint')
      .addColumn('title', 'text')
      .addColumn('author', 'text')
      .addColumn('topics', 'text')
      .addColumn('tags', 'text')
      .addColumn('classifications', 'text')
      .addColumn('snapshot_id', 'text')
      .addColumn('quality', 'double precision')
      .addColumn('body_hash', 'text')
      .addColumn('current_version_id', 'text', (column) => column.notNull())
      .addColumn('version_count', 'integer', (column) => column.notNull())
      .addColumn('index_revision', 'bigint', (column) => column.notNull())
      // Columns that listings do not show come last, however long they are.
      .addColumn('metrics', 'text')
      .addColumn('facts', 'text')
      .addColumn('extra_payload', 'text')
      .execute()
    const indexes: Record<string, string[]> = {
      document_by_identity: ['dataset_id', 'source_platform', 'external_id'],
      document_by_dataset: ['dataset_id', 'document_id'],
      document_by_platform: ['dataset_id', 'source_platform', 'document_id'],
      document_by_author: ['source_platform', 'external_author_id', 'document_id'],
      document_by_content_type: ['dataset_id', 'content_type', 'document_id'],
      document_by_language: ['dataset_id', 'language', 'document_id'],
      document_by_region: ['dataset_id', 'region', 'document_id'],
      document_by_status: ['dataset_id', 'status', 'document_id'],
      document_by_url: ['url', 'document_id'],
      document_by_revision: ['index_revision'],
    }
    for (const [name, columns] of Object.entries(indexes)) {
      const index = db.schema.createIndex(name).on('document').columns(columns)
      await (name === 'document_by_identity' ? index.unique() : index).execute()
    }
    // Indexes for ranges, by buckets (see buckets.ts). The score itself comes last, so that it can be read without the
    // document.
    const bucketed = {
      document_by_score: scoreBucketExpression('score'),
      document_by_publication: dayExpression('published_at'),
    }
    for (const [name, bucket] of Object.entries(bucketed)) {
      const index = db.schema
        .createIndex(name)
        .on('document')
        .column('dataset_id')
        .expression(sql.raw(bucket))
        .column('document_id')
      await (name === 'document_by_score' ? index.column('score') : index).execute()
    }

    await db.schema
      .createTable('document_version')
      .addColumn('version_id', 'text', (column) => column.primaryKey())
      .addColumn('document_id', 'text', (column) => column.notNull())
      .addColumn('title', 'text')
      .addColumn('body', 'text')
      .addColumn('language', 'text')
      .addColumn('published_at', 'bigint')
      .addColumn('index_revision', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('version_by_document')
      .on('document_version')
      .columns(['document_id', 'version_id'])
      .execute()

    await db.schema
      .createTable('snapshot')
      .addColumn('snapshot_id', 'text', (column) => column.primaryKey())
      .addColumn('document_id', 'text', (column) => column.notNull())
      .addColumn('observed_at', 'bigint', (column) => column.notNull())
      .addColumn('score', 'bigint')
      .addColumn('metrics', 'text')
      .execute()
    await db.schema.createIndex('snapshot_by_document').on('snapshot').columns(['document_id', 'snapshot_id']).execute()

    // Facts are never overwritten: a new set is added, with the time from which it applies.
    await db.schema
      .createTable('fact_set')
      .addColumn('fact_set_id', 'text', (column) => column.primaryKey())
      .addColumn('document_id', 'text', (column) => column.notNull())
      .addColumn('version_id', 'text')
      .addColumn('facts', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('fact_set_by_document').on('fact_set').columns(['document_id', 'fact_set_id']).execute()

    // Topics, tags and classification codes of the current state, one row for each value.
    await dialect
      .storedByKey(
        db.schema
          .createTable('document_term')
          .addColumn('kind', 'smallint', (column) => column.notNull())
          .addColumn('value', 'text', (column) => column.notNull())
          .addColumn('dataset_id', 'text', (column) => column.notNull())
          .addColumn('document_id', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('document_term_pk', ['kind', 'value', 'dataset_id', 'document_id']),
      )
      .execute()

    await dialect
      .ascendingKey(db.schema.createTable('event'), 'sequence')
      .addColumn('event_id', 'text', (column) => column.notNull())
      .addColumn('event_type', 'text', (column) => column.notNull())
      .addColumn('dataset_id', 'text', (column) => column.notNull())
      .addColumn('source_platform', 'text', (column) => column.notNull())
      .addColumn('document_id', 'text', (column) => column.notNull())
      .addColumn('version_id', 'text')
      .addColumn('changed_fields', 'text', (column) => column.notNull())
      .addColumn('occurred_at', 'bigint', (column) => column.notNull())
      .addColumn('observed_at', 'bigint', (column) => column.notNull())
      .addColumn('ingested_at', 'bigint', (column) => column.notNull())
      .execute()

    // One row: the position up to which retention has removed events.
    await db.schema
      .createTable('feed_state')
      .addColumn('one', 'smallint', (column) => column.primaryKey())
      .addColumn('removed_through', 'bigint', (column) => column.notNull())
      .execute()
    await db.insertInto('feed_state').values({ one: 1, removed_through: 0 }).execute()
  },
}
