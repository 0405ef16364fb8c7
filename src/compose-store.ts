import type { Config } from './config.ts'
import type { OpenStore } from './storage/open-store.ts'
import { openPostgresStore, postgresSchema } from './storage/postgres/open-postgres-store.ts'
import { openSqliteStore, sqliteSchema } from './storage/sqlite/open-sqlite-store.ts'
import { type PoolWatch, unwatched } from './threads/pool.ts'

export function openStore(
  config: Pick<Config, 'databaseUrl' | 'databaseConnectionsMax' | 'dataDir'>,
  watch: PoolWatch = unwatched,
): Promise<OpenStore> {
  return config.databaseUrl === null
    ? openSqliteStore(config.dataDir, watch)
    : openPostgresStore(config.databaseUrl, config.databaseConnectionsMax)
}

/** The schema of the store, 0 where there is none; only looks. */
export function storeSchema({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<number> {
  return databaseUrl === null ? sqliteSchema(dataDir) : postgresSchema(databaseUrl)
}
