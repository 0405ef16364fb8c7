import type { Config } from '../settings/config.ts'
import type { Backend } from './backend.ts'
import { postgresBackend } from './postgres/postgres-backend.ts'
import { embeddedBackend } from './sqlite/embedded-backend.ts'

type StoreSettings = Pick<Config, 'databaseUrl' | 'databaseConnectionsMax' | 'dataDir'>

/** The embedded store of a data folder, whatever the settings choose. */
export { embeddedBackend }

/** The store according to the settings. No other code chooses it. */
export function backendOf({ databaseUrl, databaseConnectionsMax, dataDir }: StoreSettings): Backend {
  return databaseUrl === null ? embeddedBackend(dataDir) : postgresBackend(databaseUrl, databaseConnectionsMax)
}
