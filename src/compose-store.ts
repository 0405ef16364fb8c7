import type { Config } from './config.ts'
import type { OpenStore } from './storage/open-store.ts'
import { openPostgresStore } from './storage/postgres/open-postgres-store.ts'
import { openSqliteStore } from './storage/sqlite/open-sqlite-store.ts'

export function openStore(
  config: Pick<Config, 'databaseUrl' | 'databaseConnectionsMax' | 'dataDir'>,
): Promise<OpenStore> {
  return config.databaseUrl === null
    ? openSqliteStore(config.dataDir)
    : openPostgresStore(config.databaseUrl, config.databaseConnectionsMax)
}
