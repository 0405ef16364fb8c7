import { sqliteStore } from '../../src/storage/sqlite/sqlite-store.ts'
import { checkHistoryStore } from './history-store.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

checkHistoryStore('sqlite', async () => {
  const connection = await openMemorySqlite()
  return { ...sqliteStore(connection), close: async () => connection.raw.close() }
})
