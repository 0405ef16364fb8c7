import { isThere } from '../../platform/is-there.ts'
import type { Backend } from '../backend.ts'
import { openSqliteStore, storePath } from './open-sqlite-store.ts'

/** The store as a file of the data folder, for one server process. */
export function embeddedBackend(dataDir: string) {
  const path = storePath(dataDir)
  return {
    name: 'the embedded store',
    // Only one server at a time may use a data folder.
    shared: false,
    isThere: () => isThere(path),
    open: (options) => openSqliteStore(dataDir, options),
    maintenance: async () => (await import('./embedded-maintenance.ts')).embeddedMaintenance(path),
  } as const satisfies Backend
}
