import { createHash } from 'node:crypto'

/**
 * The tag of a record's state. A change names the tag that it is based on, and is refused if the record has another
 * one.
 */
export const tagOf = (record: object): string =>
  createHash('sha256').update(JSON.stringify(record)).digest('base64url').slice(0, 22)
