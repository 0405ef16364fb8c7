import type { Migration } from './migration.ts'

/** The address of a document's picture. Processes of an older version neither read nor write it. */
export const thumbnails: Migration = {
  number: 19,
  name: 'thumbnails',
  breaking: false,
  async up(db) {
    await db.schema.alterTable('document').addColumn('thumbnail_url', 'text').execute()
  },
}
