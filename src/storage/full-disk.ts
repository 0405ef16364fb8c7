import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDiskFull, storageFull, storageFullRetrySeconds } from '../platform/disk-space.ts'
import type { TidemarkError } from '../platform/errors.ts'

export const sqliteReadOnly = 8
const sqliteIoError = 10
const sqliteFull = 13
const sqliteCannotOpen = 14

/**
 * No permission, a lock, no memory, a file that cannot be opened. Not "read only", because a damaged file header can
 * look like that.
 */
const machineCodes = [3, 5, 7, sqliteCannotOpen]

/** SQLite's primary result code, which is the lowest byte of an extended result code. */
export const sqliteErrorKind = (error: unknown): number =>
  ((error as { errcode?: number } | undefined)?.errcode ?? 0) % 256

/** True if the machine is at fault. Such an error says nothing about the contents of the file, which may be intact. */
export function isMachineTrouble(error: unknown, path: string): boolean {
  return machineCodes.includes(sqliteErrorKind(error)) || isFullDiskError(error, path)
}

/**
 * Refuses a pipe, because opening one would block the thread forever. SQLite itself reports anything else that it
 * cannot open.
 */
export function refusePipe(path: string | URL): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) return
  const error = new Error('unable to open database file: it is a pipe')
  throw Object.assign(error, { code: 'ERR_SQLITE_ERROR', errcode: sqliteCannotOpen })
}

const sqliteCorrupt = 11
const sqliteNotADatabase = 26

/** True if the file itself is damaged: its content cannot be trusted. */
export const isDamage = (error: unknown): boolean =>
  [sqliteCorrupt, sqliteNotADatabase].includes(sqliteErrorKind(error))

/** For an operator, who alone can repair this. */
export const damaged =
  'the database file is damaged: stop the server and restore a backup (tidemark restore FOLDER --force)'

/**
 * True if SQLite failed because the disk is full. SQLite reports this for writes. If it failed to create, map or sync a
 * file instead, the free space of the disk decides.
 */
export function isFullDiskError(error: unknown, path: string): boolean {
  const kind = sqliteErrorKind(error)
  if (kind === sqliteFull || (error as NodeJS.ErrnoException).code === 'ENOSPC') return true
  return (kind === sqliteIoError || kind === sqliteCannotOpen) && isDiskFull(statfsSync(dirname(path)))
}

/**
 * Tracks whether the latest writes found a full disk. A full disk can still take a small write in place. So there is
 * room again only after a successful call of the same name as a refused one, or after a successful ingest, which takes
 * the most space.
 */
export class RoomForWrites {
  /** When each call was refused last, by its name. */
  readonly #refusedAt = new Map<string, number>()

  written(call: string): void {
    if (call === 'content.ingest') this.#refusedAt.clear()
    else this.#refusedAt.delete(call)
  }

  /** Returns the error for the caller. */
  refused(call: string, cause: unknown): TidemarkError {
    this.#refusedAt.set(call, performance.now())
    return storageFull(cause)
  }

  /** After some time without a refusal the state is unknown, so the next write is tried. */
  get isFull(): boolean {
    const since = performance.now() - storageFullRetrySeconds * 1000
    return this.#refusedAt.values().some((at) => at > since)
  }
}
