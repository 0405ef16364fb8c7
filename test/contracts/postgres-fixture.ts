import { after } from 'node:test'
import { openPostgresStore } from '../../src/storage/postgres/open-postgres-store.ts'
import type { Store } from '../../src/storage/sql/sql-store.ts'
import { freshStoreDatabase } from '../support/fresh-database.ts'

interface PostgresFixture extends Store {
  readonly url: string
  /** As another process would open it: its own connections to the same database. */
  reopen(): Promise<PostgresFixture>
  close(): Promise<void>
}

/** Stores that a suite did not close itself. */
const left = new Set<() => Promise<void>>()
after(async () => {
  for (const close of left) await close()
})

/** A store in a database of its own, as an instance has it. */
export async function openPostgres(): Promise<PostgresFixture> {
  const { url, remove } = await freshStoreDatabase()
  const open = async (): Promise<PostgresFixture> => {
    const { store, close } = await openPostgresStore(url, 4)
    const closeAll = async (): Promise<void> => {
      left.delete(closeAll)
      await close()
      await remove()
    }
    left.add(closeAll)
    return {
      url,
      access: store.access,
      operator: store.operator,
      content: store.content,
      changes: store.changes,
      catalog: store.catalog,
      indexSource: store.indexSource,
      searchTexts: store.searchTexts,
      live: store.live,
      analysis: store.analysis,
      exportSource: store.exportSource,
      erasures: store.erasures,
      history: store.history,
      clock: store.clock,
      async reopen() {
        left.delete(closeAll)
        await close()
        return open()
      },
      close: closeAll,
    }
  }
  return open()
}
