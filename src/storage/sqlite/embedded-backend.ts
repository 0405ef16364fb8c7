import { existsSync } from 'node:fs'
import type { Backend } from '../backend.ts'
import { openSqliteStore, storePath } from './open-sqlite-store.ts'

/** A file of the data folder, for one process. */
export function embeddedBackend(dataDir: string) {
  const path = storePath(dataDir)
  return {
    name: 'the embedded store',
    // One server at a time has a data folder: its search index sees to that.
    shared: false,
    isThere: () => existsSync(path),
    open: (options) => openSqliteStore(dataDir, options),
    upkeep: async () => (await import('./embedded-upkeep.ts')).embeddedUpkeep(path),
  } as const satisfies Backend
}
