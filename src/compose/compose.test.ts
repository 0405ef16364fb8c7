import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pino } from 'pino'
import { adminTokenFile } from '../platform/data-folder.ts'
import { readConfig } from '../settings/config.ts'
import { refuseInUse } from '../storage/sqlite/backup-store.ts'
import { storePath } from '../storage/sqlite/open-sqlite-store.ts'
import { compose } from './compose.ts'
import { composeWorkbench } from './compose-workbench.ts'

const inStore = (dataDir: string, sql: string): void => {
  const database = new DatabaseSync(storePath(dataDir))
  database.exec(sql)
  database.close()
}

const faults = [
  {
    // This failure comes after the search index has been opened.
    what: 'the embedding profile cannot be registered',
    make: (dataDir: string) => inStore(dataDir, 'alter table embedding_profile rename to away'),
    repair: (dataDir: string) => inStore(dataDir, 'alter table away rename to embedding_profile'),
    error: /no such table: embedding_profile/,
  },
  {
    what: 'the admin token cannot be stored',
    make: (dataDir: string) => void mkdirSync(join(dataDir, adminTokenFile)),
    repair: (dataDir: string) => rmSync(join(dataDir, adminTokenFile), { recursive: true }),
    error: { code: 'EISDIR' },
  },
]

for (const { what, make, repair, error } of faults) {
  test(`a start that fails because ${what} leaves nothing open`, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tidemark-compose-'))
    t.after(() => rmSync(dataDir, { recursive: true, force: true }))
    const config = readConfig({ TIDEMARK_DATA_DIR: dataDir, TIDEMARK_PORT: '0' })
    await (await composeWorkbench(config)).close()
    const logger = pino({ level: 'silent' })
    make(dataDir)
    await assert.rejects(compose(config, logger), error)
    refuseInUse(storePath(dataDir))

    repair(dataDir)
    // An index that is still open refuses to be opened again.
    const instance = await compose(config, logger)
    assert.ok(URL.canParse(await instance.listen()))
    await instance.close()
    refuseInUse(storePath(dataDir))
  })
}
