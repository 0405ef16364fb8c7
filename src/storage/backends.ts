import type { Config } from '../config.ts'
import type { Backend } from './backend.ts'
import { postgresBackend } from './postgres/postgres-backend.ts'
import { embeddedBackend } from './sqlite/embedded-backend.ts'

type StoreSettings = Pick<Config, 'databaseUrl' | 'databaseConnectionsMax' | 'dataDir'>

/** What can be moved elsewhere is the embedded store of a data folder, whatever the settings choose. */
export { embeddedBackend }

/** The store of the settings. Here it is chosen, and nowhere else. */
export function backendOf({ databaseUrl, databaseConnectionsMax, dataDir }: StoreSettings): Backend {
  return databaseUrl === null ? embeddedBackend(dataDir) : postgresBackend(databaseUrl, databaseConnectionsMax)
}
