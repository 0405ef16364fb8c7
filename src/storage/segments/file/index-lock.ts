import { accessSync, constants, existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteErrorKind } from '../../full-disk.ts'

const sqliteBusy = 5

/** Two processes on one file would undo each other's work. The lock ends with the process, however that ends. */
export function lockIndex(path: string): DatabaseSync {
  refuseUnwritable(path)
  const db = new DatabaseSync(lockPath(path))
  try {
    db.exec('pragma locking_mode = exclusive; begin exclusive')
    return db
  } catch (error) {
    db.close()
    if (sqliteErrorKind(error) !== sqliteBusy) throw error
    throw new OpenElsewhereError(path)
  }
}

/** The name identifies the error after it has passed between threads. */
class OpenElsewhereError extends Error {
  override readonly name = 'OpenElsewhereError'

  constructor(path: string) {
    super(`${dirname(path)} is served by another process: stop it, or set TIDEMARK_DATA_DIR to a folder of its own`)
  }
}

export const saysOpenElsewhere = (error: unknown): boolean =>
  error instanceof Error && error.name === 'OpenElsewhereError'

/** Whether another process, or another part of this one, has the index open. */
export function isOpenElsewhere(path: string): boolean {
  try {
    refuseOpenIndex(path)
    return false
  } catch (error) {
    if (saysOpenElsewhere(error)) return true
    throw error
  }
}

/** Throws if another process, or another part of this one, has the index open. */
export function refuseOpenIndex(path: string): void {
  if (existsSync(lockPath(path))) lockIndex(path).close()
}

/**
 * SQLite silently opens a file for reading if it may not write: the lock would exclude nobody, and no batch would be
 * stored.
 */
function refuseUnwritable(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`, lockPath(path)].filter((one) => existsSync(one))) {
    try {
      accessSync(file, constants.W_OK)
    } catch {
      throw new Error(
        `${basename(file)} in the data folder cannot be written by the user that serves it; another user made it: give it to this one (chown), or run tidemark reindex as this one`,
      )
    }
  }
}

const lockPath = (path: string): string => `${path}-lock`
