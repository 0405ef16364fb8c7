import { migrate } from '../../src/storage/sql/migrate.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { sqliteMigrationDialect } from '../../src/storage/sqlite/migration-dialect.ts'
import { openSqlite } from '../../src/storage/sqlite/node-sqlite.ts'
import { checkCatalogStore } from './catalog-store.ts'

checkCatalogStore(
  'sqlite',
  async () => {
    const { raw, db } = openSqlite(':memory:', false)
    await migrate(db, sqliteMigrationDialect, 0)
    const { catalog, content, operator } = sqlStore(db)
    return {
      catalog,
      content,
      operator,
      async close() {
        raw.close()
      },
    }
  },
  2000,
)
