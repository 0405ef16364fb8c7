import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { storeFile } from '../../data-folder.ts'
import { storageFull } from '../../disk-space.ts'
import { TidemarkError } from '../../errors.ts'
import { makeFolder } from '../../make-folder.ts'
import type { OperatorStore } from '../../operator/operator-store.ts'
import { CallLost, Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../../threads/pool.ts'
import { damaged, isDamage, isFullDiskError, RoomForWrites } from '../full-disk.ts'
import type { OpenStore } from '../open-store.ts'
import { migrate, noSchema, readSchema, refuseBeyond, type Schema } from '../sql/migrate.ts'
import { remoteStore } from '../sql/remote-store.ts'
import type { NamedCall } from '../sql/store-calls.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'
import { DiskReserve } from './reserve.ts'
import { ReservedWrites } from './reserved-writes.ts'
import type { StoreCall, StoreThread } from './store-thread.ts'

/** A reader is handed a second call while it works on one, so that it never idles between two. */
const callsPerReader = 2

/** The writer is handed a few: they are short. Of those that it has when it dies nobody knows whether they were done. */
const callsPerWriter = 8

/**
 * Room for short-lived objects in a thread. Left to itself it grows to 48 MB in each, for no gain in speed: what a call
 * makes is either gone at once or sent away.
 */
const maxYoungGenerationSizeMb = 8

export const storePath = (dataDir: string): string => join(dataDir, storeFile)

/**
 * The embedded store: one file, one writing thread, some reading ones; nothing of it runs on the main thread. A thread
 * that dies is replaced; what it had not committed is undone by SQLite when its connection is gone.
 */
export async function openSqliteStore(dataDir: string, watch: PoolWatch = silentPoolWatch): Promise<OpenStore> {
  const path = storePath(dataDir)
  await makeFolder(dataDir)
  await refuseNewer(dataDir)
  const migrated = await bringUpToDate(path).catch((error: unknown) => {
    throw isFullDiskError(error, path) ? storageFull(error) : error
  })

  const reserve = new DiskReserve(dataDir)
  await reserve.keep()
  const writers = new Pool({
    name: 'store-writer',
    size: 1,
    callsPerMember: callsPerWriter,
    start: () => startThread(path, 'writer'),
    watch,
  })
  const readers = new Pool({
    name: 'store-readers',
    size: Math.max(2, Math.min(4, availableParallelism())),
    // The others come as they are needed: a thread costs a tenth of a second, and a command needs but one.
    kept: 1,
    callsPerMember: callsPerReader,
    start: () => startThread(path, 'reader'),
    watch,
  })
  const close = async (): Promise<void> => {
    await readers.end()
    // Last, so that the write-ahead log is folded into the file when the last connection closes.
    await writers.end()
  }
  try {
    await Promise.all([writers.open(), readers.open()])
  } catch (error) {
    await close()
    throw isFullDiskError(error, path) ? storageFull(error) : error
  }

  const room = new RoomForWrites()
  let isDamaged = false
  const writes = new ReservedWrites<StoreCall>({
    reserve,
    send: (call) => writers.call(call),
    isUrgent: takesAccessAway,
    isForWantOfRoom: (error) => isFullDiskError(error, path),
    refusal: () => room.refused(new Error('what room there is is kept for a revocation')),
  })
  const perform = async ({ port, method, write }: NamedCall, args: readonly unknown[]): Promise<unknown> => {
    const call: StoreCall = { port, method, args }
    try {
      if (write === null) return await readers.call(call)
      const result = await writes.write(call)
      room.written()
      return result
    } catch (error) {
      if (isFullDiskError(error, path)) throw room.refused(error)
      if (isDamage(error)) {
        isDamaged = true
        throw new TidemarkError('store_unavailable', damaged, { retryAfterSeconds: 60, cause: error })
      }
      throw error instanceof CallLost ? interrupted(error, write !== null && error.wasSent) : error
    }
  }

  return {
    store: remoteStore(perform),
    migrated,
    elected: async () => true,
    onForeignWrite: () => {},
    condition: () => ({
      ok: !isDamaged && writers.serving > 0 && readers.serving > 0,
      troubles: [isDamaged ? damaged : null, writers.trouble, readers.trouble, reserve.trouble].filter(
        (trouble) => trouble !== null,
      ),
    }),
    lacksRoom: () => room.isLacking,
    load: () => ({ writer: writers.load, readers: readers.load }),
    close,
  }
}

/** Whoever holds the key would go on with it for as long as the disk is full. */
function takesAccessAway({ port, method, args }: StoreCall): boolean {
  if (port !== 'operator' || method !== 'commit') return false
  const [changes] = args as Parameters<OperatorStore['commit']>
  return changes.every(({ kind }) => kind === 'key.revoke' || kind === 'key.expire')
}

function startThread(path: string, role: StoreThread['role']): { calls: Calls } {
  const name = `store ${role}`
  const workerData: StoreThread = { path, role }
  const file = new URL('./store-thread.ts', import.meta.url)
  const worker = new Worker(file, { workerData, name, resourceLimits: { maxYoungGenerationSizeMb } })
  return { calls: new Calls(threadChannel(worker), { name }) }
}

function interrupted(cause: CallLost, isOutcomeUnknown: boolean): TidemarkError {
  const what = isOutcomeUnknown
    ? ', and whether this was done is not known: look before sending it again'
    : ': try again'
  return new TidemarkError('store_unavailable', `the store was interrupted${what}`, { cause, retryAfterSeconds: 1 })
}

/**
 * The schema of the store in a data folder. Looks without writing: opening a newer file for writing could already
 * change it. Where no process left a write-ahead log, the file is opened as immutable, because
 * even a reading connection makes files beside one that uses such a log.
 */
export async function sqliteSchema(dataDir: string): Promise<Schema> {
  const path = storePath(dataDir)
  if (!existsSync(path)) return noSchema
  const untouched = pathToFileURL(path)
  untouched.searchParams.set('immutable', '1')
  const { raw, db } = openSqlite(existsSync(`${path}-wal`) ? path : untouched, true)
  try {
    return await readSchema(db, sqliteMigrationDialect)
  } finally {
    raw.close()
  }
}

async function refuseNewer(dataDir: string): Promise<void> {
  // A look at a file that another process just begins to write may fail; the one below, under a lock, will not.
  refuseBeyond(await sqliteSchema(dataDir).catch(() => noSchema))
}

async function bringUpToDate(path: string): Promise<readonly string[]> {
  const { raw, db } = openSqlite(path, false)
  try {
    raw.exec('begin exclusive')
    try {
      const applied = await migrate(db, sqliteMigrationDialect, Date.now())
      raw.exec('commit')
      return applied
    } catch (error) {
      raw.exec('rollback')
      throw error
    }
  } finally {
    raw.close()
  }
}
