import type { Migration } from './migration.ts'

/** A run may have several artifacts, each with a name. Earlier artifacts are all neighbour graphs. */
export const artifactNames: Migration = {
  number: 8,
  name: 'artifact-names',
  breaking: false,
  async up(db) {
    // Neither database writes a constant default into existing rows, and older processes need not know the column.
    await db.schema
      .alterTable('analysis_artifact')
      .addColumn('name', 'text', (column) => column.notNull().defaultTo('edges'))
      .execute()
  },
}
