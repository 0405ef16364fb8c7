import type { Migration } from './migration.ts'

/**
 * Documents that arrive in a dataset while it is being erased are sent in the feed again when they can be read. A
 * process of an older version that shows the dataset does not send them.
 */
export const erasureArrivals: Migration = {
  number: 14,
  name: 'erasure-arrivals',
  breaking: false,
  async up(db) {
    await db.schema.alterTable('erasure').addColumn('arrivals', 'text').execute()
  },
}
