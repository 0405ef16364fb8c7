import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlExportSource } from '../../src/storage/sql/export-source.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'
import { casesOf } from '../support/cases.ts'
import { checkChangeLog } from './change-log.ts'
import { type ContentFixture, checkContentStore } from './content-store.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

async function inMemory(): Promise<ContentFixture> {
  const connection = await openMemorySqlite()
  return {
    ...sqlStore(connection.db),
    // So small that each bound is reached.
    exportSource: sqlExportSource(connection.db, { documents: 3, versions: 4, textBytes: 5 }),
    async close() {
      connection.raw.close()
    },
  }
}

/** As in an instance: a file, threads, and all data copied between them. */
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

checkContentStore('sqlite, in memory', inMemory, casesOf(300))
checkContentStore('sqlite, as opened by an instance', onDisk, 3)
checkChangeLog('sqlite, in memory', inMemory, casesOf(800))
checkChangeLog('sqlite, as opened by an instance', onDisk, casesOf(200, 100))
