import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { storeFile } from '../../operator/backup-manifest.ts'
import type { OpenStore } from '../open-store.ts'
import { migrate, NewerStoreError, newestMigration, schemaNumber } from '../sql/migrate.ts'
import { remoteStore } from '../sql/remote-store.ts'
import type { NamedCall } from '../sql/store-calls.ts'
import { DatabaseThread } from './database-thread.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'

/** A reader is handed a second call while it works on one, so that it never idles between two. */
const callsPerReader = 2

export const storePath = (dataDir: string): string => join(dataDir, storeFile)

/** The embedded store: one file, one writing thread, some reading ones; nothing of it runs on the main thread. */
export async function openSqliteStore(dataDir: string): Promise<OpenStore> {
  const path = storePath(dataDir)
  await mkdir(dataDir, { recursive: true })
  await refuseNewer(dataDir)
  const migrated = await bringUpToDate(path)

  const [writer, firstReader] = await Promise.all([
    DatabaseThread.start(path, 'writer'),
    DatabaseThread.start(path, 'reader'),
  ])
  const readersMax = Math.max(2, Math.min(4, availableParallelism()))
  const readers = [firstReader]
  let starting: Promise<void> | null = null

  let calls = 0
  const queued: { start: (reader: DatabaseThread) => void; fail: (error: unknown) => void }[] = []
  const startQueued = (): void => {
    while (queued.length > 0) {
      const living = readers.filter((reader) => !reader.ended)
      const idle = living.reduce<DatabaseThread | null>(
        (least, reader) => (least === null || reader.callsUnderWay < least.callsUnderWay ? reader : least),
        null,
      )
      if (idle === null || idle.callsUnderWay >= callsPerReader) {
        if (living.length < readersMax) startReader()
        return
      }
      queued.shift()!.start(idle)
    }
  }
  /** Readers come as they are needed, one at a time: a thread costs a tenth of a second, and a command needs but one. */
  const startReader = (): void => {
    starting ??= DatabaseThread.start(path, 'reader').then(
      (reader) => {
        starting = null
        readers.push(reader)
        startQueued()
      },
      (error) => {
        starting = null
        // Those that live go on; with none left, nobody would ever answer what waits.
        if (readers.every((reader) => reader.ended)) for (const { fail } of queued.splice(0)) fail(error)
      },
    )
  }
  const read = (port: string, method: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queued.push({
        start: (reader) => {
          reader.call({ number: ++calls, port, method, args }).then(resolve, reject).finally(startQueued)
        },
        fail: reject,
      })
      startQueued()
    })

  const perform = ({ port, method, write }: NamedCall, args: readonly unknown[]): Promise<unknown> =>
    write === null ? read(port, method, args) : writer.call({ number: ++calls, port, method, args })

  return {
    store: remoteStore(perform),
    migrated,
    // One server at a time has a data folder: its search index sees to that.
    shared: false,
    makesVectors: async () => true,
    onForeignWrite: () => {},
    load: () => ({
      writer: writer.callsUnderWay,
      readers: queued.length + readers.reduce((sum, reader) => sum + reader.callsUnderWay, 0),
    }),
    async close() {
      await starting
      await Promise.all(readers.map((reader) => reader.close()))
      // Last, so that the write-ahead log is folded into the file when the last connection closes.
      await writer.close()
    },
  }
}

/**
 * The schema of the store in a data folder, 0 where there is none. Looks without writing: opening a newer file for
 * writing could already change it. Where no process left a write-ahead log, the file is opened as immutable, because
 * even a reading connection makes files beside one that uses such a log.
 */
export async function sqliteSchema(dataDir: string): Promise<number> {
  const path = storePath(dataDir)
  if (!existsSync(path)) return 0
  const untouched = pathToFileURL(path)
  untouched.searchParams.set('immutable', '1')
  const { raw, db } = openSqlite(existsSync(`${path}-wal`) ? path : untouched, true)
  try {
    return await schemaNumber(db, sqliteMigrationDialect)
  } finally {
    raw.close()
  }
}

async function refuseNewer(dataDir: string): Promise<void> {
  // A look at a file that another process just begins to write may fail; the one below, under a lock, will not.
  const found = await sqliteSchema(dataDir).catch(() => 0)
  if (found > newestMigration) throw new NewerStoreError(found)
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
