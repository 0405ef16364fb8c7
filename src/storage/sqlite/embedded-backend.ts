import { existsSync } from 'node:fs'
import type { Backend } from '../backend.ts'
import { newestMigration } from '../sql/migrate.ts'
import { copyStore, refuseInUse, removeStoreLog } from './backup-store.ts'
import { openCopySource } from './copy-source.ts'
import { openSqliteStore, sqliteSchema, storePath } from './open-sqlite-store.ts'
import { prepareRestored } from './prepare-restored.ts'

/** A file of the data folder, for one process. */
export function embeddedBackend(dataDir: string) {
  const path = storePath(dataDir)
  return {
    name: 'the embedded store',
    // One server at a time has a data folder: its search index sees to that.
    shared: false,
    isThere: () => existsSync(path),
    open: (watch) => openSqliteStore(dataDir, watch),
    schema: () => sqliteSchema(dataDir),
    newestSchema: newestMigration,
    examine: async () => [],
    backup: {
      by: 'tidemark',
      copyStore: (to, report) => copyStore(path, to, Date.now(), report),
      refuseInUse: () => refuseInUse(path),
      removeStoreLog: () => removeStoreLog(path),
      prepareStore: (copy, { made_at }) => prepareRestored(copy, path, made_at, Date.now()),
    },
    copySource: () => openCopySource(path),
    copyTarget: null,
  } as const satisfies Backend
}
