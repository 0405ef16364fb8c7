import type { DatabaseSync } from 'node:sqlite'

/**
 * The `user_version` of a file in which every deletion since its creation was overwritten with zeros. A file without
 * it, from an earlier version, may still have deleted data in its free space, so it is rewritten once.
 */
const alwaysOverwritten = 1

export function markOverwritten(raw: DatabaseSync): void {
  raw.exec(`pragma user_version = ${alwaysOverwritten}`)
}

/** Removes deleted data from the free space of the file and from its log. Waits for readers of the log. */
export function scrub(raw: DatabaseSync): void {
  if (raw.prepare('pragma user_version').get()?.user_version !== alwaysOverwritten) {
    // Into a temporary file: a store can be larger than memory.
    raw.exec('pragma temp_store = file; vacuum; pragma temp_store = memory')
    markOverwritten(raw)
  }
  truncateLog(raw)
}

export function truncateLog(raw: DatabaseSync): void {
  const result = raw.prepare('pragma wal_checkpoint(truncate)').get()
  if (result?.busy !== 0) throw new Error('the log of the store is in use: it is truncated later')
}
