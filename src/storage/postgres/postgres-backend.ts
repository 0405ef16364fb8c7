import type { Backend } from '../backend.ts'
import { newestMigration } from '../sql/migrate.ts'
import { openCopyTarget } from './copy-target.ts'
import { examineDatabase } from './examine-database.ts'
import { openPostgresStore, postgresSchema } from './open-postgres-store.ts'

/** A database of a PostgreSQL server, for any number of processes. */
export function postgresBackend(url: string, connectionsMax: number) {
  return {
    name: 'PostgreSQL',
    shared: true,
    // Nobody knows before it is asked.
    isThere: () => true,
    open: () => openPostgresStore(url, connectionsMax),
    schema: () => postgresSchema(url),
    newestSchema: newestMigration,
    examine: () => examineDatabase(url, connectionsMax),
    backup: { by: 'own tools', backup: 'pg_dump', restore: 'pg_restore' },
    copySource: null,
    copyTarget: (asked) => openCopyTarget(url, asked),
  } as const satisfies Backend
}
