import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'
import { checkChangeLog } from './change-log.ts'
import { type ContentFixture, checkContentStore } from './content-store.ts'

async function inMemory(): Promise<ContentFixture> {
  const { raw, db } = openSqlite(':memory:', false)
  await migrate(db, sqliteMigrationDialect, 0)
  return {
    ...sqlStore(db),
    async close() {
      raw.close()
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
    async close() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
}

checkContentStore('sqlite, in memory', inMemory, 300)
checkContentStore('sqlite, as opened by an instance', onDisk, 3)
checkChangeLog('sqlite, in memory', inMemory, 2000)
checkChangeLog('sqlite, as opened by an instance', onDisk, 200)
