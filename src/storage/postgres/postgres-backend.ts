import type { Backend } from '../backend.ts'

/** A database of a PostgreSQL server, for any number of processes. */
export function postgresBackend(url: string, connectionsMax: number) {
  return {
    name: 'PostgreSQL',
    shared: true,
    // It cannot be known without a connection.
    isThere: () => true,
    open: async (options) => (await import('./open-postgres-store.ts')).openPostgresStore(url, connectionsMax, options),
    maintenance: async () => (await import('./postgres-maintenance.ts')).postgresMaintenance(url, connectionsMax),
  } as const satisfies Backend
}
