import type { Migration } from './migration.ts'

/**
 * From here on, the feed has types of events that a reader must request by name. No table changes, but a process of an
 * older version would send these events to every reader.
 */
export const namedEvents: Migration = {
  number: 11,
  name: 'named-events',
  breaking: true,
  async up() {},
}
