import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { casesOf } from '../support/cases.ts'
import { checkCatalogStore } from './catalog-store.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

checkCatalogStore(
  'sqlite',
  async () => {
    const { raw, db } = await openMemorySqlite()
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
  casesOf(600, 300),
)
