import type { Migration } from './migration.ts'

/**
 * The values that decide who may read an event: the bits of `access/event-fields.ts`, the language, region and
 * publication time of its document then, and their earlier values if they changed. `opened_by` is null for events from
 * before this migration.
 *
 * Breaking: a process of an older version would show events to readers without permission, and would write none of
 * these values.
 */
export const eventReaders: Migration = {
  number: 16,
  name: 'event-readers',
  breaking: true,
  async up(db) {
    const columns = [
      ['opened_by', 'smallint'],
      ['language', 'text'],
      ['region', 'text'],
      ['published_at', 'bigint'],
      ['language_before', 'text'],
      ['region_before', 'text'],
      ['published_before', 'bigint'],
    ] as const
    for (const [name, type] of columns) await db.schema.alterTable('event').addColumn(name, type).execute()
  },
}
