import type { DatabaseSync } from 'node:sqlite'

/**
 * The file's own mark (`user_version`) of a store in which every deletion was overwritten with zeros from its first day on.
 * One without it, from an earlier version, may have remains in its free space: it is written anew once.
 */
const alwaysOverwritten = 1

export function markOverwritten(raw: DatabaseSync): void {
  raw.exec(`pragma user_version = ${alwaysOverwritten}`)
}

/** What was deleted is nowhere in the free space of the file nor in its log. Readers that are in the log are waited for. */
export function scrub(raw: DatabaseSync): void {
  if (raw.prepare('pragma user_version').get()?.user_version !== alwaysOverwritten) {
    // Into a temporary file: a store can be larger than the memory.
    raw.exec('pragma temp_store = file; vacuum; pragma temp_store = memory')
    markOverwritten(raw)
  }
  cutLog(raw)
}

export function cutLog(raw: DatabaseSync): void {
  const cut = raw.prepare('pragma wal_checkpoint(truncate)').get()
  if (cut?.busy !== 0) throw new Error('the log of the store is being read: it is cut later')
}
