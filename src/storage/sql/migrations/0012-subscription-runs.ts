import type { Migration } from './migration.ts'

/**
 * Subscriptions start runs. A process of an older version can execute such a run, but does not move the checkpoint. The
 * subscription then treats the run as failed and starts another.
 */
export const subscriptionRuns: Migration = {
  number: 12,
  name: 'subscription-runs',
  breaking: false,
  async up(db) {
    for (const [column, type] of [
      ['subscription_id', 'text'],
      ['turn', 'integer'],
      ['feed_sequence', 'bigint'],
    ] as const) {
      await db.schema.alterTable('analysis_run').addColumn(column, type).execute()
    }
    await db.schema.createIndex('run_by_subscription').on('analysis_run').columns(['subscription_id', 'turn']).execute()
    for (const [column, type] of [
      ['parameters', 'text'],
      ['last_run_id', 'text'],
      ['checkpoint_sequence', 'bigint'],
      ['checkpoint_run_id', 'text'],
      ['checkpoint_at', 'bigint'],
    ] as const) {
      await db.schema.alterTable('analysis_subscription').addColumn(column, type).execute()
    }
    for (const [column, type] of [
      ['turn', 'integer'],
      ['tries', 'integer'],
      ['followed_through', 'bigint'],
    ] as const) {
      await db.schema
        .alterTable('analysis_subscription')
        .addColumn(column, type, (definition) => definition.notNull().defaultTo(0))
        .execute()
    }
  },
}
