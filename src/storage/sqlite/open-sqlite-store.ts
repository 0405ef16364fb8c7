import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { storeFile } from '../../data-folder.ts'
import { storageFull } from '../../disk-space.ts'
import { TidemarkError } from '../../errors.ts'
import type { ExportSource } from '../../export/export-source.ts'
import { giveToOwner } from '../../give-to-owner.ts'
import { makeFolder } from '../../make-folder.ts'
import type { OperatorStore } from '../../operator/operator-store.ts'
import type { IndexSource } from '../../search/index-source.ts'
import { CallLost, Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { Pool, silentPoolWatch } from '../../threads/pool.ts'
import type { OpenOptions } from '../backend.ts'
import { damaged, isDamage, isFullDiskError, RoomForWrites } from '../full-disk.ts'
import { NewerStoreError, type OpenStore } from '../open-store.ts'
import { remoteStore } from '../sql/remote-store.ts'
import { type NamedCall, nameOf } from '../sql/store-calls.ts'
import { clearGaps } from './clear-gaps.ts'
import { FileNews } from './file-news.ts'
import { DiskReserve } from './reserve.ts'
import { ReservedWrites } from './reserved-writes.ts'
import type { StoreCall, StoreStart, StoreThread, ThreadCall } from './store-thread.ts'

/** A reader is handed a second call while it works on one, so that it never idles between two. */
const callsPerReader = 2

/** A thread that is not needed at all times is let go when it had nothing to do for so long. */
const letGoAfterMs = 60_000

/**
 * The bulk reader sooner, for after an import it holds 70 MB, a third of what a server takes. To begin anew takes it 0.3 s of the
 * processor, and who sends many at once in shorter intervals than this finds it there.
 */
const letBulkReaderGoAfterMs = 10_000

/** The writer is handed a few: they are short. Of those that it has when it dies nobody knows whether they were done. */
const callsPerWriter = 8

export const storePath = (dataDir: string): string => join(dataDir, storeFile)

/**
 * The embedded store: one file, one writing thread, some reading ones; nothing of it runs on the main thread, which does
 * not even load the library of queries. A thread that dies is replaced; what it had not committed is undone by SQLite when
 * its connection is gone. For a command the writer reads too: a second thread would cost more than the wait for the first.
 */
export async function openSqliteStore(dataDir: string, options: OpenOptions = {}): Promise<OpenStore> {
  const { watch = silentPoolWatch, callers = 'many' } = options
  const path = storePath(dataDir)
  await makeFolder(dataDir)
  const reserve = new DiskReserve(dataDir)
  let migrated: readonly string[] = []
  const writers = new Pool({
    name: 'store-writer',
    size: 1,
    callsPerMember: callsPerWriter,
    start: () => {
      const calls = startThread(path, 'writer')
      const ready = calls.started.then((start) => {
        migrated = migrated.concat((start as StoreStart).migrated)
      })
      return { calls, ready }
    },
    watch,
  })
  let readers = writers
  let bulkReaders: Pool | null = null
  const news = new FileNews(path)
  const close = async (): Promise<void> => {
    news.close()
    await bulkReaders?.end()
    if (readers !== writers) await readers.end()
    // Last, so that the write-ahead log is folded into the file when the last connection closes.
    await writers.end()
  }
  try {
    await writers.open()
    await reserve.keep()
    await giveToOwner(dataDir, [path, `${path}-wal`, `${path}-shm`, reserve.path].filter(existsSync))
    if (callers === 'many') {
      readers = new Pool({
        name: 'store-readers',
        size: Math.max(2, Math.min(4, availableParallelism())),
        // The others come as they are needed: when a call has waited behind others for longer than most of them take.
        kept: 1,
        patienceMs: 10,
        letGoAfterMs,
        callsPerMember: callsPerReader,
        start: () => ({ calls: startThread(path, 'reader') }),
        watch,
      })
      // Else everybody would wait behind an export, or behind what the index is fed with, for as long as it takes.
      bulkReaders = new Pool({
        name: 'store-bulk-reader',
        size: 1,
        kept: 0,
        letGoAfterMs: letBulkReaderGoAfterMs,
        letsAllGo: true,
        callsPerMember: 1,
        start: () => ({ calls: startThread(path, 'bulk reader') }),
        watch,
      })
      await readers.open()
    }
  } catch (error) {
    await close()
    throw whyNotOpen(error, path)
  }

  const room = new RoomForWrites()
  let isDamaged = false
  const writes = new ReservedWrites<StoreCall>({
    reserve,
    send: (call) => writers.call(call),
    isUrgent: takesAccessAway,
    isForWantOfRoom: (error) => isFullDiskError(error, path),
    refusal: (call) => room.refused(nameOf(call), new Error('what room there is is kept for a revocation')),
  })
  const perform = async ({ port, method, write }: NamedCall, args: readonly unknown[]): Promise<unknown> => {
    const call: StoreCall = { port, method, args, writes: write !== null }
    try {
      if (write === null) return await ((isBulk(call) ? bulkReaders : null) ?? readers).call(call)
      const result = await writes.write(call)
      room.written(nameOf(call))
      return result
    } catch (error) {
      if (isFullDiskError(error, path)) throw room.refused(nameOf(call), error)
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
    now: async () => Date.now(),
    onForeignWrite: () => {},
    news,
    condition: () => ({
      ok: !isDamaged && writers.serving > 0 && readers.serving > 0,
      troubles: [isDamaged ? damaged : null, writers.trouble, readers.trouble, reserve.trouble].filter(
        (trouble) => trouble !== null,
      ),
    }),
    lacksRoom: () => room.isLacking,
    async scrub() {
      try {
        await writers.call('scrub' satisfies ThreadCall)
        await clearGaps(path)
        room.written('scrub')
      } catch (error) {
        throw isFullDiskError(error, path) ? room.refused('scrub', error) : error
      }
    },
    load: () => ({ writer: writers.load, readers: readers.load + (bulkReaders?.load ?? 0) }),
    close,
  }
}

/**
 * A portion of an export that goes on, or of documents for the index where many wait. The first of either is read like
 * anything else, and is usually all.
 */
function isBulk({ port, method, args }: StoreCall): boolean {
  if (port === 'exportSource' && method === 'portion') {
    const [query] = args as Parameters<ExportSource['portion']>
    return query.after !== null
  }
  if (port !== 'indexSource' || method !== 'preparedAfter') return false
  const [, limits] = args as Parameters<IndexSource['preparedAfter']>
  return limits.isBehind
}

/** Whoever holds the key would go on with it for as long as the disk is full. */
function takesAccessAway({ port, method, args }: StoreCall): boolean {
  if (port !== 'operator' || method !== 'commit') return false
  const [changes] = args as Parameters<OperatorStore['commit']>
  return changes.every(({ kind }) => kind === 'key.revoke' || kind === 'key.expire')
}

function startThread(path: string, role: StoreThread['role']): Calls {
  const name = `store ${role}`
  const workerData: StoreThread = { path, role }
  const file = new URL('./store-thread.ts', import.meta.url)
  const worker = new Worker(file, { workerData, name })
  return new Calls(threadChannel(worker), { name })
}

function interrupted(cause: CallLost, isOutcomeUnknown: boolean): TidemarkError {
  const what = isOutcomeUnknown
    ? ', and whether this was done is not known: look before sending it again'
    : ': try again'
  return new TidemarkError('store_unavailable', `the store was interrupted${what}`, { cause, retryAfterSeconds: 1 })
}

/** What a thread throws arrives without its class. */
function whyNotOpen(error: unknown, path: string): unknown {
  const { name, found, known } = error as NewerStoreError
  if (name === NewerStoreError.name) return new NewerStoreError(found, known)
  return isFullDiskError(error, path) ? storageFull(error) : error
}
