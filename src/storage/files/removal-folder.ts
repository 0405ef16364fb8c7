import { randomBytes } from 'node:crypto'
import type { StatsFs } from 'node:fs'
import { constants, type FileHandle, open, readdir, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  DamagedEntry,
  damagedEntry,
  entryBytesMax,
  isEntryName,
  permissionDeniedEntry,
  type RemovalRecord,
} from '../../operator/removal-record.ts'
import { isDiskFull } from '../../platform/disk-space.ts'
import { UnavailableError } from '../../platform/errors.ts'
import { makeFolder } from '../../platform/folders.ts'
import { folderTrouble } from './examine-folder.ts'

/** The record of removals of one instance as a folder of files. */
export function folderOfRemovals(folder: string): RemovalRecord {
  const reaching = reachingInTime()
  const pathOf = (name: string): string => {
    if (!isEntryName(name)) throw new Error('not the name of an entry')
    return join(folder, name)
  }

  return {
    place: folder,

    names: () =>
      reaching('read', async () => {
        const names = await readdir(folder).catch(nullIfMissing)
        return (names ?? []).filter(isEntryName)
      }),

    read: (name) => {
      const path = pathOf(name)
      return reaching('read', async () => {
        const damaged = (about: string, cause?: unknown) =>
          damagedEntry(`the entry ${name} of the record of removals ${about}`, name, cause)
        try {
          const handle = await open(path, readOnly).catch(nullIfMissing)
          if (handle === null) return null
          await using file = handle
          const found = await file.stat()
          if (!found.isFile()) throw damaged('is not a file')
          if (found.size > entryBytesMax) throw damaged('is larger than any valid entry')
          return await file.readFile('utf8')
        } catch (error) {
          if (error instanceof DamagedEntry) throw error
          const { code } = error as NodeJS.ErrnoException
          if (code === 'EACCES' || code === 'EPERM') {
            throw permissionDeniedEntry(
              `the entry ${name} of the record of removals cannot be read by this user (${code})`,
              error,
            )
          }
          throw damaged(`cannot be read (${code})`, error)
        }
      })
    },

    write: (name, entry) =>
      reaching('written', async () => {
        const path = pathOf(name)
        await makeFolder(folder)
        // A unique name, because another process may write the same entry.
        const draft = `${path}.${randomBytes(6).toString('hex')}.partial`
        try {
          await synced(await open(draft, 'wx', 0o600), (file) => file.writeFile(entry))
          await rename(draft, path)
        } catch (error) {
          await rm(draft, { force: true })
          throw error
        }
        // The name is an entry of the folder, so it is on disk only after the folder is synced.
        await synced(await open(folder))
      }),

    unwritable: () => reaching('read', () => whyUnwritable(folder)),
  }
}

/** Follows no link, and does not block on a pipe in place of an entry. */
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

async function synced(handle: FileHandle, work: (file: FileHandle) => Promise<void> = async () => {}): Promise<void> {
  await using file = handle
  await work(file)
  await file.sync()
}

/** Checks the folder, or its nearest existing parent. */
async function whyUnwritable(folder: string): ReturnType<RemovalRecord['unwritable']> {
  const trouble = await folderTrouble(folder)
  if (trouble !== null) return trouble
  const blocks = await nearestFolder(folder)
  return isDiskFull(blocks) ? { about: 'its disk is full', advice: 'free up space on it' } : null
}

const nearestFolder = (folder: string): Promise<StatsFs> =>
  statfs(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || dirname(folder) === folder) throw error
    return nearestFolder(dirname(folder))
  })

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** A network disk that is gone may never answer. */
const answersWithinMs = 30_000

/**
 * Limits the time of disk access. `/readyz` shows the messages, so they name no path. The log has the cause. An access
 * that hangs holds one of the few threads for file access, so no other access starts until it has ended.
 */
function reachingInTime(): <T>(done: 'read' | 'written', work: () => Promise<T>) => Promise<T> {
  let silent: Promise<unknown> | null = null
  return async (done, work) => {
    const late = () =>
      new UnavailableError(
        `the folder of the record of removals cannot be ${done}: its disk did not answer within ${answersWithinMs / 1000} s`,
      )
    if (silent !== null) throw late()
    const answer = work()
    const over = new AbortController()
    const clock = setTimeout(answersWithinMs, undefined, { ref: false, signal: over.signal }).then(
      () => {
        silent = answer
        const answered = (): void => {
          silent = null
        }
        answer.then(answered, answered)
        throw late()
      },
      () => answer,
    )
    try {
      return await Promise.race([answer, clock])
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === undefined) throw error
      throw new UnavailableError(`the folder of the record of removals cannot be ${done} (${code})`, { cause: error })
    } finally {
      over.abort()
    }
  }
}
