/**
 * The content side of an instance and nothing else: collector API, documents, change feed over the embedded store, no
 * search index beside it. `node bench/support/content-server.ts FOLDER` prints its address and, once, the admin token's
 * place is taken by TIDEMARK_ADMIN_TOKEN.
 */

import { pino } from 'pino'
import { adminTokenOf } from '../../src/access/admin-token.ts'
import { Authenticator } from '../../src/access/authenticator.ts'
import { RateLimits } from '../../src/access/rate-limits.ts'
import { UsageBook } from '../../src/access/usage-book.ts'
import { documentRoutes } from '../../src/catalog/document-routes.ts'
import { ChangeSignal } from '../../src/changes/change-signal.ts'
import { FeedMeasures } from '../../src/changes/feed-measures.ts'
import { changesRoutes } from '../../src/changes/routes.ts'
import { Cursors } from '../../src/cursors.ts'
import { exportRoutes } from '../../src/export/routes.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { makeServer } from '../../src/http/server.ts'
import type { TypedApp } from '../../src/http/typed-app.ts'
import { silentIncidents } from '../../src/incidents.ts'
import { Ingest } from '../../src/ingest/ingest.ts'
import { IngestMeasures } from '../../src/ingest/ingest-measures.ts'
import { ingestRoutes } from '../../src/ingest/routes.ts'
import { silentMeasures } from '../../src/measures.ts'
import { Operator } from '../../src/operator/operator.ts'
import { operatorRoutes } from '../../src/operator/routes.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'

const [dataDir, token] = process.argv.slice(2) as [string, string]
const { store } = await openSqliteStore(dataDir)
const { hash } = await adminTokenOf(dataDir, token)
const authenticator = new Authenticator(store.access, [
  { hash, principal: { kind: 'admin', keyId: null, name: null, role: 'owner' } },
])
const usage = new UsageBook(store.access, silentIncidents)
const operator = new Operator(store.operator)
operator.onChange(() => authenticator.forget())
const cursors = await Cursors.load(store.access)
const signal = new ChangeSignal(async () => (await store.changes.state()).newest)
const ingest = new Ingest(store.content, () => signal.notify())
const app = await makeServer({
  logger: pino({ level: 'fatal' }),
  authenticator,
  usage,
  claims: store.access,
  rates: new RateLimits(),
  measures: new Metrics(),
  corsOrigins: [],
  requestsInFlightMax: 512,
  connectionsMax: 10_000,
  bodyTimeoutMs: 30_000,
  shutdownDrainMs: 0,
  routes: (plain) => {
    const typed = plain as unknown as TypedApp
    operatorRoutes(typed, operator, usage)
    ingestRoutes(typed, ingest, new IngestMeasures(silentMeasures))
    const measures = new FeedMeasures(silentMeasures, signal)
    changesRoutes(typed, { log: store.changes, signal, cursors, usage, measures })
    documentRoutes(typed, store.catalog, cursors)
    exportRoutes(typed, { source: store.exportSource, log: store.changes, cursors, usage, isStopping: () => false })
  },
})
console.log(`serves ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
process.on('SIGTERM', () => process.exit(0))
