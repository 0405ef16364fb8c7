import { createHash } from 'node:crypto'

/** Tells two states of a record apart: whoever changes what they have read names it, and is refused where another stands. */
export const tagOf = (record: object): string =>
  createHash('sha256').update(JSON.stringify(record)).digest('base64url').slice(0, 22)
