import type { Migration } from './migration.ts'

/**
 * A key says of which kind its owner is, and what it may do itself where no owner says that: a further kind of
 * credential needs no column. The two columns with the owners of the first two kinds stay: older versions know no other,
 * and the database sees to it that these owners are there.
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
