import { suite } from 'node:test'
import { migrate } from '../../src/storage/sql/migrate.ts'
import { type Store, sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { analysisInputContract } from './analysis-input.ts'
import { analysisStoreContract } from './analysis-store.ts'

async function open(): Promise<Store> {
  const { db } = openSqlite(':memory:', false)
  await migrate(db, sqliteMigrationDialect, 0)
  return sqlStore(db)
}

suite('the store of analysis runs: sqlite', () => {
  analysisStoreContract(async () => (await open()).analysis, 150)
})
analysisInputContract('sqlite', open)
