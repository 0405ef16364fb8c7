import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDiskFull, roomAwaitedSeconds, storageFull } from '../disk-space.ts'
import type { TidemarkError } from '../errors.ts'

const sqliteIoError = 10
const sqliteFull = 13
const sqliteCannotOpen = 14

/** No permission, a lock, no memory, a file that cannot be opened. Not "read only", which a damaged head can look like. */
const ofTheMachine = [3, 5, 7, sqliteCannotOpen]

/** SQLite's code for the kind of an error; what is finer stands in the higher bits. */
export const sqliteErrorKind = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) % 256

/** What SQLite says of the machine says nothing of what is in the file: that may be whole. */
export function isMachineTrouble(error: unknown, path: string): boolean {
  return ofTheMachine.includes(sqliteErrorKind(error)) || isFullDiskError(error, path)
}

const sqliteCorrupt = 11
const sqliteNotADatabase = 26

/** The file itself is at fault: what it says cannot be believed, whatever is tried. */
export const isDamage = (error: unknown): boolean =>
  [sqliteCorrupt, sqliteNotADatabase].includes(sqliteErrorKind(error))

/** In words for an operator, who alone can do something about it. */
export const damaged =
  'the database file is damaged: stop the server and restore a backup (tidemark restore FOLDER --force)'

/**
 * Whether SQLite failed for want of room. It says so itself where it writes; where it only failed to make, to map or to
 * sync a file, the disk is asked.
 */
export function isFullDiskError(error: unknown, path: string): boolean {
  const kind = sqliteErrorKind(error)
  if (kind === sqliteFull || (error as NodeJS.ErrnoException).code === 'ENOSPC') return true
  return (kind === sqliteIoError || kind === sqliteCannotOpen) && isDiskFull(statfsSync(dirname(path)))
}

/**
 * Whether there is room, as far as the latest writes tell. A full disk still has some for a number that is written over
 * another: that there is room again tells only a call of a name that was refused, or one that brings documents, which take
 * the most.
 */
export class RoomForWrites {
  /** When each was refused last, by its name. */
  readonly #refusedAt = new Map<string, number>()

  written(call: string): void {
    if (call === 'content.ingest') this.#refusedAt.clear()
    else this.#refusedAt.delete(call)
  }

  /** Gives what the caller is answered with. */
  refused(call: string, cause: unknown): TidemarkError {
    this.#refusedAt.set(call, performance.now())
    return storageFull(cause)
  }

  /** After a while without any write nobody knows, and the next one may well be done. */
  get isLacking(): boolean {
    const since = performance.now() - roomAwaitedSeconds * 1000
    return this.#refusedAt.values().some((at) => at > since)
  }
}
