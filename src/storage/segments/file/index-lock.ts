import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sqliteErrorKind } from '../../full-disk.ts'

const sqliteBusy = 5

/** Two processes on one file would undo each other's work. The lock goes with the process, however it ends. */
export function lockIndex(path: string): DatabaseSync {
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

const lockPath = (path: string): string => `${path}-lock`
