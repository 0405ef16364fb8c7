import type { Migration } from './migration.ts'

/** A run may have several artifacts, each with a name; those before were all of neighbour graphs. */
export const artifactNames: Migration = {
  number: 8,
  name: 'artifact-names',
  breaking: false,
  async up(db) {
    // A constant as default is not written into rows, on neither database; and older processes need not know of it.
    await db.schema
      .alterTable('analysis_artifact')
      .addColumn('name', 'text', (column) => column.notNull().defaultTo('edges'))
      .execute()
  },
}
