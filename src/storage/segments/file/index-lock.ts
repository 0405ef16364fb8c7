import { accessSync, constants, existsSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteErrorKind } from '../../full-disk.ts'

const sqliteBusy = 5

/** Two processes on one file would undo each other's work. The lock goes with the process, however it ends. */
export function lockIndex(path: string): DatabaseSync {
  refuseUnwritable(path)
  const db = new DatabaseSync(lockPath(path))
  try {
    db.exec('pragma locking_mode = exclusive; begin exclusive')
    return db
  } catch (error) {
    db.close()
    if (sqliteErrorKind(error) !== sqliteBusy) throw error
    throw new Error(`the index at ${path} is open in another process`)
  }
}

/** Throws where another process, or another part of this one, has the index open. */
export function refuseOpenIndex(path: string): void {
  if (existsSync(lockPath(path))) lockIndex(path).close()
}

/** What it may not write SQLite opens for reading, without a word: the lock would keep nobody out, and no batch be kept. */
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
