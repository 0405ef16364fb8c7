import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ExportSource } from '../../export/export-source.ts'
import type { IndexSource } from '../../indexing/index-source.ts'
import type { OperatorStore } from '../../operator/operator-store.ts'
import { storeFile } from '../../platform/data-folder.ts'
import { storageFull } from '../../platform/disk-space.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { giveToOwner, makeFolder } from '../../platform/folders.ts'
import { CallLost, Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { Pool, silentPoolWatch } from '../../threads/pool.ts'
import type { OpenOptions } from '../backend.ts'
import { damaged, isDamage, isFullDiskError, RoomForWrites, sqliteErrorKind, sqliteReadOnly } from '../full-disk.ts'
import { type Election, NewerStoreError, type OpenStore } from '../open-store.ts'
import { remoteStore } from '../sql/remote-store.ts'
import { type NamedCall, nameOf } from '../sql/store-calls.ts'
import { clearGaps } from './clear-gaps.ts'
import { FileNotifications } from './file-notifications.ts'
import { DiskReserve } from './reserve.ts'
import { ReservedWrites } from './reserved-writes.ts'
import type { StoreCall, StoreStart, StoreThread, ThreadCall } from './store-thread.ts'

/** A reader gets a second call while it works on one, so that it never idles between two. */
const callsPerReader = 2

/** How long an additional thread may be idle before it ends. */
const idleTimeoutMs = 60_000

/**
 * The bulk reader ends sooner, because after an import it holds much of the memory of a server. A client that pauses
 * for less than this time finds it running.
 */
const bulkReaderIdleTimeoutMs = 10_000

/**
 * The writer gets several calls at once, because they are short. If it exits, the outcome of all of them is unknown.
 */
const callsPerWriter = 8

export const storePath = (dataDir: string): string => join(dataDir, storeFile)

/**
 * The embedded store: one file, one writer thread and several reader threads. No query runs on the main thread, which
 * does not even load the query library. A thread that exits is replaced, and SQLite rolls back its open transaction.
 * For a command the writer also reads, because a second thread would cost more than it saves.
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
  const notifications = new FileNotifications(path)
  const close = async (): Promise<void> => {
    notifications.close()
    await bulkReaders?.end()
    if (readers !== writers) await readers.end()
    // Closed last, so that closing the last connection checkpoints the write-ahead log.
    await writers.end()
  }
  try {
    await writers.open()
    await reserve.refill()
    await giveToOwner(dataDir, [path, `${path}-wal`, `${path}-shm`, reserve.path].filter(existsSync))
    if (callers === 'many') {
      readers = new Pool({
        name: 'store-readers',
        size: Math.max(2, Math.min(4, availableParallelism())),
        // More readers start when a call has waited longer than most calls take.
        kept: 1,
        patienceMs: 10,
        idleTimeoutMs,
        callsPerMember: callsPerReader,
        start: () => ({ calls: startThread(path, 'reader') }),
        watch,
      })
      // Otherwise all calls would wait behind an export, or behind the reads that feed the index.
      bulkReaders = new Pool({
        name: 'store-bulk-reader',
        size: 1,
        kept: 0,
        idleTimeoutMs: bulkReaderIdleTimeoutMs,
        endsAllWhenIdle: true,
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
  const elections = new Set<Election>()
  let isDamaged = false
  const writes = new ReservedWrites<StoreCall>({
    reserve,
    send: (call) => writers.call(call),
    isUrgent: onlyRevokesKeys,
    isDiskFull: (error) => isFullDiskError(error, path),
    refusal: (call) => room.refused(nameOf(call), new Error('the remaining disk space is reserved for revoking keys')),
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
      if (isDamage(error) || isDamagedHeader(error, path)) {
        isDamaged = true
        throw damage(error)
      }
      throw error instanceof CallLost ? interrupted(error, write !== null && error.wasSent) : error
    }
  }

  return {
    store: remoteStore(perform),
    migrated,
    // Only one process has the store, so it wins every election that it stands for.
    async elected(election) {
      elections.add(election)
      return true
    },
    hasLeader: async (election) => elections.has(election),
    now: async () => Date.now(),
    onForeignWrite: () => {},
    notifications,
    condition: () => ({
      ok: !isDamaged && writers.serving > 0 && readers.serving > 0,
      troubles: [isDamaged ? damaged : null, writers.trouble, readers.trouble, reserve.problem].filter(
        (trouble) => trouble !== null,
      ),
    }),
    isDiskFull: () => room.isFull,
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

/** Whether a call reads a later batch of an export, or a batch for the index while the index is behind. */
function isBulk({ port, method, args }: StoreCall): boolean {
  if (port === 'exportSource' && method === 'portion') {
    const [query] = args as Parameters<ExportSource['portion']>
    return query.after !== null
  }
  if (port !== 'indexSource' || method !== 'preparedAfter') return false
  const [, limits] = args as Parameters<IndexSource['preparedAfter']>
  return limits.isBehind
}

/** Whether a call only revokes or expires keys. It may use the reserve, so that keys can be revoked on a full disk. */
function onlyRevokesKeys({ port, method, args }: StoreCall): boolean {
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
  const what = isOutcomeUnknown ? ', and the outcome is unknown: check it before you send it again' : ': try again'
  return new TidemarkError('store_unavailable', `the store was interrupted${what}`, { cause, retryAfterSeconds: 1 })
}

/** An error that a thread has sent has lost its class, so its name decides. */
function whyNotOpen(error: unknown, path: string): unknown {
  const { name, found, known } = error as NewerStoreError
  if (name === NewerStoreError.name) return new NewerStoreError(found, known)
  if (isFullDiskError(error, path)) return storageFull(error)
  return isDamagedHeader(error, path) ? damage(error) : error
}

const damage = (cause: unknown): TidemarkError =>
  new TidemarkError('store_unavailable', damaged, { retryAfterSeconds: 60, cause })

/** The offset of the write format version in the file header: 1 or 2. SQLite only reads a file with another version. */
const writeVersionAt = 18

/** A damaged header can cause the error "read only", but so can permissions and mounts. The header itself decides. */
function isDamagedHeader(error: unknown, path: string): boolean {
  if (sqliteErrorKind(error) !== sqliteReadOnly) return false
  const head = Buffer.alloc(writeVersionAt + 1)
  const file = openSync(path, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return ![1, 2].includes(head[writeVersionAt]!)
}
