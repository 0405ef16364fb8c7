import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Live queries, their tasks, delivered documents, idempotency keys, and the polls of collectors. */
export const live: Migration = {
  number: 5,
  name: 'live',
  breaking: false,
  async up(db, dialect) {
    await db.schema
      .createTable('live_query')
      .addColumn('live_query_id', 'text', (column) => column.primaryKey())
      .addColumn('application_id', 'text', (column) => column.notNull())
      .addColumn('dataset_id', 'text', (column) => column.notNull())
      .addColumn('resource_kind', 'text', (column) => column.notNull())
      .addColumn('query', 'text', (column) => column.notNull())
      .addColumn('max_items', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('deadline_at', 'bigint', (column) => column.notNull())
      .addColumn('completed_at', 'bigint')
      .execute()
    // For the rate limits by application, and for the worker.
    await db.schema
      .createIndex('live_query_by_application')
      .on('live_query')
      .columns(['application_id', 'created_at'])
      .execute()
    await db.schema
      .createIndex('live_query_unfinished')
      .on('live_query')
      .columns(['deadline_at', 'application_id'])
      .where(sql.ref('completed_at'), 'is', null)
      .execute()

    await db.schema
      .createTable('live_run')
      .addColumn('run_id', 'text', (column) => column.primaryKey())
      .addColumn('task_id', 'text', (column) => column.notNull().unique())
      .addColumn('live_query_id', 'text', (column) => column.notNull())
      .addColumn('ordinal', 'integer', (column) => column.notNull())
      .addColumn('platform', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('items', 'integer', (column) => column.notNull())
      .addColumn('error_code', 'text')
      .addColumn('error_message', 'text')
      .addColumn('lease_id', 'text')
      .addColumn('collector_id', 'text')
      .addColumn('lease_expires_at', 'bigint')
      .execute()
    await db.schema
      .createIndex('live_run_by_query')
      .on('live_run')
      .columns(['live_query_id', 'ordinal'])
      .unique()
      .execute()
    await db.schema
      .createIndex('live_run_by_status')
      .on('live_run')
      .columns(['status', 'platform', 'task_id'])
      .execute()

    await dialect
      .storedByKey(
        db.schema
          .createTable('live_item')
          .addColumn('run_id', 'text', (column) => column.notNull())
          .addColumn('position', 'integer', (column) => column.notNull())
          .addColumn('external_id', 'text', (column) => column.notNull())
          .addColumn('document_id', 'text', (column) => column.notNull())
          .addPrimaryKeyConstraint('live_item_pk', ['run_id', 'position'])
          .addUniqueConstraint('live_item_once', ['run_id', 'external_id']),
      )
      .execute()

    await dialect
      .storedByKey(
        db.schema
          .createTable('live_key')
          .addColumn('application_id', 'text', (column) => column.notNull())
          .addColumn('idempotency_key', 'text', (column) => column.notNull())
          .addColumn('body_hash', 'text', (column) => column.notNull())
          .addColumn('live_query_id', 'text', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('live_key_pk', ['application_id', 'idempotency_key']),
      )
      .execute()
    await db.schema.createIndex('live_key_by_time').on('live_key').column('created_at').execute()

    await dialect
      .storedByKey(
        db.schema
          .createTable('collector_poll')
          .addColumn('collector_id', 'text', (column) => column.notNull())
          .addColumn('platform', 'text', (column) => column.notNull())
          .addColumn('resource_kind', 'text', (column) => column.notNull())
          .addColumn('polled_at', 'bigint', (column) => column.notNull())
          .addPrimaryKeyConstraint('collector_poll_pk', ['collector_id', 'platform', 'resource_kind']),
      )
      .execute()
  },
}
