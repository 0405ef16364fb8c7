import { inDatabase } from '../support/in-database.ts'
import { checkErasureStore, type ErasureFixture } from './erasure-store.ts'
import { openPostgres } from './postgres-fixture.ts'

async function onPostgres(): Promise<ErasureFixture> {
  const store = await openPostgres()
  return {
    ...store,
    async dump() {
      const tables = await inDatabase(store.url, `select tablename from pg_tables where schemaname = 'public'`)
      const rows = []
      for (const { tablename } of tables) {
        rows.push(...(await inDatabase(store.url, `select row_to_json(t)::text as row from ${tablename} t`)))
      }
      return rows.map(({ row }) => row).join('\n')
    },
  }
}

checkErasureStore('postgres', onPostgres, 5)
