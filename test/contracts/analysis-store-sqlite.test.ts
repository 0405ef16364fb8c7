import { suite } from 'node:test'
import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { analysisStoreContract } from './analysis-store.ts'

suite('the store of analysis runs in SQLite', () => {
  analysisStoreContract(async () => {
    const { db } = openSqlite(':memory:', false)
    await migrate(db, sqliteMigrationDialect, Date.now())
    return sqlStore(db).analysis
  })
})
