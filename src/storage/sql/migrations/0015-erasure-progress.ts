import type { Migration } from './migration.ts'

/** How far an erasure is, after its documents are hidden. What a process of an older version removes is not counted. */
export const erasureProgress: Migration = {
  number: 15,
  name: 'erasure-progress',
  breaking: false,
  async up(db) {
    await db.schema.alterTable('erasure').addColumn('removed', 'bigint').execute()
  },
}
