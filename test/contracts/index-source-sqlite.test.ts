import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { casesOf } from '../support/cases.ts'
import { checkIndexSource } from './index-source.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

checkIndexSource(
  'sqlite',
  async () => {
    const { raw, db } = await openMemorySqlite()
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
  casesOf(30, 10),
)
