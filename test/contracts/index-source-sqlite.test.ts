import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { checkIndexSource } from './index-source.ts'

checkIndexSource(
  'sqlite',
  async () => {
    const { raw, db } = openSqlite(':memory:', false)
    await migrate(db, sqliteMigrationDialect, 0)
    const { indexSource, content, operator } = sqlStore(db)
    return {
      source: indexSource,
      content,
      operator,
      async close() {
        raw.close()
      },
    }
  },
  30,
)
