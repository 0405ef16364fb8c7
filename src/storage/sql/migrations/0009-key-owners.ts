import type { Migration } from './migration.ts'

/**
 * A key records the kind of its owner and, if the owner does not define its rights, the rights themselves. So a new
 * kind of credential needs no new column. The two columns for the first two kinds of owners stay: older versions know
 * no others, and the database checks that these owners exist.
 */
export const keyOwners: Migration = {
  number: 9,
  name: 'key-owners',
  breaking: false,
  async up(db) {
    for (const column of ['owner_kind', 'owner_id', 'rights'] as const) {
      await db.schema.alterTable('api_key').addColumn(column, 'text').execute()
    }
    const owned = (kind: string, column: 'application_id' | 'collector_id') =>
      db
        .updateTable('api_key')
        .set(({ ref }) => ({ owner_kind: kind, owner_id: ref(column) }))
        .where(column, 'is not', null)
        .execute()
    await owned('consumer', 'application_id')
    await owned('collector', 'collector_id')
  },
}
