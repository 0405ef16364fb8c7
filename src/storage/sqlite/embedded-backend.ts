import { isThere } from '../../platform/is-there.ts'
import type { Backend } from '../backend.ts'
import { openSqliteStore, storePath } from './open-sqlite-store.ts'

/** A file of the data folder, for one process. */
export function embeddedBackend(dataDir: string) {
  const path = storePath(dataDir)
  return {
    name: 'the embedded store',
    // A data folder has one server at a time, which its search index enforces.
    shared: false,
    isThere: () => isThere(path),
    open: (options) => openSqliteStore(dataDir, options),
    upkeep: async () => (await import('./embedded-upkeep.ts')).embeddedUpkeep(path),
  } as const satisfies Backend
}
