import type { Migration } from './migration.ts'

/** Analysis runs with their artifacts, and subscriptions. The artifact files are elsewhere. */
export const analysis: Migration = {
  number: 4,
  name: 'analysis',
  breaking: false,
  async up(db) {
    await db.schema
      .createTable('analysis_run')
      .addColumn('run_id', 'text', (column) => column.primaryKey())
      .addColumn('application_id', 'text', (column) => column.notNull())
      .addColumn('analysis_type', 'text', (column) => column.notNull())
      .addColumn('embedding_profile_id', 'text')
      .addColumn('input_scope', 'text', (column) => column.notNull())
      .addColumn('parameters', 'text')
      .addColumn('input_cutoff_at', 'bigint', (column) => column.notNull())
      .addColumn('retention_days', 'integer', (column) => column.notNull())
      .addColumn('scope', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('progress', 'double precision', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('completed_at', 'bigint')
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('error', 'text')
      .addColumn('worker_id', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('run_by_application').on('analysis_run').columns(['application_id', 'run_id']).execute()
    await db.schema.createIndex('run_by_status').on('analysis_run').columns(['status', 'run_id']).execute()
    await db.schema.createIndex('run_by_expiry').on('analysis_run').columns(['status', 'expires_at']).execute()

    await db.schema
      .createTable('analysis_artifact')
      .addColumn('artifact_id', 'text', (column) => column.primaryKey())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('row_count', 'bigint', (column) => column.notNull())
      .addColumn('byte_count', 'bigint', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('artifact_by_run').on('analysis_artifact').columns(['run_id', 'artifact_id']).execute()

    await db.schema
      .createTable('analysis_subscription')
      .addColumn('subscription_id', 'text', (column) => column.primaryKey())
      .addColumn('application_id', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('analysis_type', 'text', (column) => column.notNull())
      .addColumn('input_scope', 'text', (column) => column.notNull())
      .addColumn('execution_mode', 'text', (column) => column.notNull())
      .addColumn('embedding_profile_id', 'text')
      .addColumn('interval_seconds', 'bigint')
      .addColumn('artifact_retention_days', 'integer')
      .addColumn('paused', 'smallint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('subscription_by_application')
      .on('analysis_subscription')
      .columns(['application_id', 'subscription_id'])
      .execute()
  },
}
