import type { Migration } from './migration.ts'

/** An index to find the newest audit entry of an action, such as the last recorded backup. */
export const auditActions: Migration = {
  number: 18,
  name: 'audit-actions',
  breaking: false,
  async up(db) {
    await db.schema.createIndex('audit_action').on('audit').columns(['action', 'audit_id']).execute()
  },
}
