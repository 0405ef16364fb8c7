import type { StoreMaintenance } from '../backend.ts'
import { newestMigration } from '../sql/migrate.ts'
import { openCopyTarget } from './copy-target.ts'
import { examineDatabase } from './examine-database.ts'
import { postgresSchema } from './open-postgres-store.ts'

export function postgresMaintenance(url: string, connectionsMax: number) {
  return {
    schema: () => postgresSchema(url),
    newestSchema: newestMigration,
    examine: () => examineDatabase(url, connectionsMax),
    backup: { by: 'own tools', backup: 'pg_dump', restore: 'pg_restore' },
    copySource: null,
    copyTarget: (request) => openCopyTarget(url, request),
  } as const satisfies StoreMaintenance
}
