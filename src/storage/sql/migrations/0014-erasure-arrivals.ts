import type { Migration } from './migration.ts'

/**
 * What comes into a dataset while it is erased is told once more when it can be read. A process of an older version that
 * shows the dataset does not.
 */
export const erasureArrivals: Migration = {
  number: 14,
  name: 'erasure-arrivals',
  breaking: false,
  async up(db) {
    await db.schema.alterTable('erasure').addColumn('arrivals', 'text').execute()
  },
}
