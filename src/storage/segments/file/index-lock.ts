import { accessSync, constants, existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteErrorKind } from '../../full-disk.ts'

const sqliteBusy = 5

/**
 * Locks the index against other processes, because two writers would overwrite each other's work. The operating system
 * releases the lock when the process ends.
 */
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

/** The name identifies the error after it has been sent between threads. */
class OpenElsewhereError extends Error {
  override readonly name = 'OpenElsewhereError'

  constructor(path: string) {
    super(`${dirname(path)} is served by another process: stop it, or set TIDEMARK_DATA_DIR to a folder of its own`)
  }
}

export const isOpenElsewhereError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'OpenElsewhereError'

/** Whether another process, or another part of this one, has the index open. */
export function isOpenElsewhere(path: string): boolean {
  try {
    refuseOpenIndex(path)
    return false
  } catch (error) {
    if (isOpenElsewhereError(error)) return true
    throw error
  }
}

/** Throws if another process, or another part of this one, has the index open. */
export function refuseOpenIndex(path: string): void {
  if (existsSync(lockPath(path))) lockIndex(path).close()
}

/**
 * Throws if this user may not write the files. SQLite would silently open them for reading: the lock would exclude no
 * other process, and no batch would be stored.
 */
function refuseUnwritable(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`, lockPath(path)].filter((one) => existsSync(one))) {
    try {
      accessSync(file, constants.W_OK)
    } catch {
      throw new Error(
        `${basename(file)} in the data folder cannot be written by the user that the server runs as, because another user created it: change its owner (chown), or run tidemark reindex as the server's user`,
      )
    }
  }
}

const lockPath = (path: string): string => `${path}-lock`
