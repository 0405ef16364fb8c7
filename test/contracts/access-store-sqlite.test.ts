import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'
import { checkAccessStore } from './access-store.ts'

checkAccessStore('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-access-'))
  const { store, close } = await openSqliteStore(folder)
  return {
    access: store.access,
    operator: store.operator,
    async close() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
})
