import type { Migration } from './migration.ts'

/**
 * The progress of an erasure after its documents are hidden. Removals by a process of an older version are not counted.
 */
export const erasureProgress: Migration = {
  number: 15,
  name: 'erasure-progress',
  breaking: false,
  async up(db) {
    await db.schema.alterTable('erasure').addColumn('removed', 'bigint').execute()
  },
}
