import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'
import { sqliteExportSource } from '../../src/storage/sqlite/sqlite-export-source.ts'
import { checkChangeLog } from './change-log.ts'
import { type ContentFixture, checkContentStore } from './content-store.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

async function inMemory(): Promise<ContentFixture> {
  const connection = await openMemorySqlite()
  return {
    ...sqlStore(connection.db),
    // So small that each of them is met.
    exportSource: sqliteExportSource(connection, { documents: 3, versions: 4, textBytes: 5 }),
    async close() {
      connection.raw.close()
    },
  }
}

/** As an instance has it: a file, threads, and everything copied between them. */
async function onDisk(): Promise<ContentFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-content-'))
  const { store, close } = await openSqliteStore(folder)
  return {
    content: store.content,
    changes: store.changes,
    catalog: store.catalog,
    operator: store.operator,
    exportSource: store.exportSource,
    async close() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
}

checkContentStore('sqlite, in memory', inMemory, 300)
checkContentStore('sqlite, as opened by an instance', onDisk, 3)
checkChangeLog('sqlite, in memory', inMemory, 800)
checkChangeLog('sqlite, as opened by an instance', onDisk, 200)
