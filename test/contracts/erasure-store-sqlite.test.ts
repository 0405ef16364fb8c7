import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { checkErasureStore, type ErasureFixture } from './erasure-store.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

async function inMemory(): Promise<ErasureFixture> {
  const { raw, db } = await openMemorySqlite()
  return {
    ...sqlStore(db),
    // Every byte of the file that the database would be.
    dump: async () => Buffer.from(raw.serialize()).toString('latin1'),
    async close() {
      raw.close()
    },
  }
}

checkErasureStore('sqlite, in memory', inMemory, 40)
