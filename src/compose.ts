import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { type AdminToken, adminTokenOf, adminTokenTold } from './access/admin-token.ts'
import { Authenticator } from './access/authenticator.ts'
import { RateLimits } from './access/rate-limits.ts'
import { SharedRates } from './access/shared-rates.ts'
import { SignInCodes } from './access/sign-in-codes.ts'
import { UsageBook } from './access/usage-book.ts'
import { accountRoutes } from './account/routes.ts'
import { catalogRoutes } from './catalog/catalog-routes.ts'
import { classificationRoutes } from './catalog/classification-routes.ts'
import { documentRoutes } from './catalog/document-routes.ts'
import { ChangeSignal } from './changes/change-signal.ts'
import { FeedMeasures } from './changes/feed-measures.ts'
import { retentionMs } from './changes/read-changes.ts'
import { changesRoutes } from './changes/routes.ts'
import { composeAnalysis } from './compose-analysis.ts'
import { diskCheck, storeCheck } from './compose-checks.ts'
import { composeSearch } from './compose-search.ts'
import type { Config } from './config.ts'
import { Cursors } from './cursors.ts'
import { measureDisk } from './disk-space.ts'
import { exportRoutes } from './export/routes.ts'
import { consoleRoutes } from './http/console-routes.ts'
import { Metrics } from './http/metrics.ts'
import { type Check, publicRoutes } from './http/public-routes.ts'
import { makeServer } from './http/server.ts'
import type { TypedApp } from './http/typed-app.ts'
import { LoggedIncidents } from './incidents.ts'
import { Ingest } from './ingest/ingest.ts'
import { IngestMeasures } from './ingest/ingest-measures.ts'
import { ingestRoutes } from './ingest/routes.ts'
import { measureTasks } from './live/live-measures.ts'
import { LiveQueries } from './live/live-queries.ts'
import { liveRoutes } from './live/routes.ts'
import { taskListRoutes } from './live/task-list-routes.ts'
import { taskRoutes } from './live/task-routes.ts'
import { makeFolder } from './make-folder.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { OpenParts } from './open-parts.ts'
import { measureBackups } from './operator/backup-measures.ts'
import { erasureRoutes } from './operator/erasure-routes.ts'
import { Erasures } from './operator/erasures.ts'
import { Operator } from './operator/operator.ts'
import { finishRestore } from './operator/restore-backup.ts'
import { operatorRoutes } from './operator/routes.ts'
import { entitlementCountRoutes } from './search/entitlement-count-routes.ts'
import type { Backlog } from './search/index-source.ts'
import { indexingRoutes } from './search/indexing-routes.ts'
import { liveResultRoutes } from './search/live-result-routes.ts'
import { searchRoutes } from './search/routes.ts'
import { valuesRoutes } from './search/values-routes.ts'
import { backendOf } from './storage/backends.ts'
import type { OpenStore } from './storage/open-store.ts'
import { measureStore } from './storage/store-measures.ts'
import { watchPools } from './threads/watch-pools.ts'
import { startErasures } from './worker/erasures.ts'
import { startFeedRetention } from './worker/feed-retention.ts'
import { startLive } from './worker/live.ts'
import { startRetention } from './worker/retention.ts'

/** Whoever can set the token of this process, or read its data folder, could do everything anyway. */
const ownerOfLastResort = { kind: 'admin', keyId: null, name: null, role: 'owner' } as const

/** A running instance: everything wired, listening when `listen` is called, gone when `close` has ended. */
export interface Instance {
  readonly app: FastifyInstance
  readonly operator: Operator
  readonly ingest: Ingest
  readonly store: OpenStore['store']
  /** `told` is called when it was printed. */
  readonly adminToken: Pick<AdminToken, 'made' | 'isUntold'> & { told(): Promise<void> }
  /** Codes that sign somebody in to the console. */
  readonly signInCodes: SignInCodes
  /** What the search index has not seen yet; null where this process has none. */
  readonly indexBacklog: (() => Promise<Backlog>) | null
  listen(): Promise<string>
  /** In the reverse order of what `compose` opens. Rejects when all is closed that would close, and something did not. */
  close(): Promise<void>
}

export async function compose(config: Config, logger: FastifyBaseLogger): Promise<Instance> {
  const answers = config.roles.includes('api')
  const works = config.roles.includes('worker')
  await makeFolder(config.dataDir)
  await finishRestore(config.dataDir)
  await using parts = new OpenParts(logger)
  const metrics = new Metrics()
  const incidents = new LoggedIncidents(logger, metrics)
  metrics.reportTo(incidents)
  const pools = watchPools(metrics, logger)
  measureBackups(metrics, config.dataDir)

  const backend = backendOf(config)
  const { shared } = backend
  const open = await backend.open({ watch: pools, measures: metrics })
  parts.opened('store', () => open.close())
  const { store } = open
  const usage = new UsageBook(store.access, incidents)
  parts.opened('usage', () => usage.close())
  const operator = new Operator(store.operator)
  const cursors = await Cursors.load(store.access, incidents)
  const signal = new ChangeSignal(async () => (await store.changes.state()).newest, incidents)
  const search = answers
    ? await composeSearch({ config, open, shared, operator, parts, incidents, logger, pools, measures: metrics })
    : null
  const analysis = composeAnalysis({
    config,
    store: store.analysis,
    clock: () => open.now(),
    works,
    parts,
    incidents,
    logger,
    pools,
    measures: metrics,
    news: open.news,
  })
  const written = (): void => {
    signal.notify()
    search?.wake()
  }
  const erasures = new Erasures({
    store: store.erasures,
    hidden: async () => {
      authenticator.forget()
      written()
      await search?.reachErasures()
    },
  })
  const ingest = new Ingest(store.content, written)
  parts.opened('ingest', () => ingest.idle())
  const live = new LiveQueries(store.live)
  if (works) {
    const { scrub } = open
    const { expireRuns } = analysis
    const jobs = [
      startFeedRetention(store.changes, incidents),
      startLive(store.live, incidents, open.news),
      startErasures({ store: store.erasures, scrub, expireRuns, now: Date.now, news: open.news }, incidents),
      startRetention(store.erasures, Date.now, incidents),
    ]
    parts.opened('jobs', () => Promise.all(jobs.map((job) => job.stop())))
  }

  // After all that can fail: a token that is made must come to be shown.
  const token = await adminTokenOf(config.dataDir, config.adminToken)
  const authenticator = new Authenticator(store.access, [{ hash: token.hash, principal: ownerOfLastResort }])
  operator.onChange(() => authenticator.forget())
  open.onForeignWrite((port) => {
    if (port === 'content') written()
    else if (port === 'operator') authenticator.forget()
    else if (port === 'analysis') analysis.wake()
  }, incidents)

  measureStore(metrics, open)
  measureDisk(metrics, config.dataDir)
  measureTasks(metrics, store.live)
  const signInCodes = new SignInCodes()
  let stopping = false
  const checks: Record<string, Check> = {
    ...(search === null ? {} : { index: search.check }),
    disk: () => diskCheck(config.dataDir, shared, open),
    serving: async () => ({ ok: !stopping, detail: stopping ? 'shutting down' : 'accepting requests' }),
    store: () => storeCheck(open),
  }
  const app = await makeServer({
    logger,
    authenticator,
    usage,
    claims: store.access,
    rates: shared ? new SharedRates(store.access, incidents) : new RateLimits(),
    measures: metrics,
    corsOrigins: config.corsOrigins,
    requestsInFlightMax: config.requestsInFlightMax,
    connectionsMax: config.connectionsMax,
    bodyTimeoutMs: config.bodyTimeoutMs,
    shutdownDrainMs: config.shutdownDrainMs,
    routes: (plain) => {
      const typed = plain as unknown as TypedApp
      publicRoutes(typed, metrics, checks, incidents)
      consoleRoutes(typed, signInCodes)
      // A process that only works in the background still says how it is.
      if (search === null) return
      const { embedder, searcher, values, indexing } = search
      accountRoutes(typed, {
        usage,
        embeddingProfiles: () => operator.read.embeddingProfiles(),
        ingestTimes: (scope) => store.catalog.ingestTimes(scope),
        feedRetentionMs: retentionMs,
      })
      operatorRoutes(typed, operator, usage)
      erasureRoutes(typed, erasures, operator)
      const ingestMeasures = new IngestMeasures(metrics)
      ingestRoutes(typed, ingest, ingestMeasures)
      const feedMeasures = new FeedMeasures(metrics, signal)
      changesRoutes(typed, { log: store.changes, signal, cursors, usage, measures: feedMeasures })
      exportRoutes(typed, {
        source: store.exportSource,
        log: store.changes,
        cursors,
        usage,
        isStopping: () => stopping,
      })
      documentRoutes(typed, store.catalog, cursors)
      catalogRoutes(typed, { store: store.catalog, cursors, timeoutMs: config.catalogTimeoutMs })
      valuesRoutes(typed, { ...values, cursors })
      entitlementCountRoutes(typed, values)
      searchRoutes(typed, { searcher, measures: search.measures, texts: store.searchTexts, cursors, usage, live })
      liveRoutes(typed, live)
      liveResultRoutes(typed, { live, cursors })
      taskRoutes(typed, store.live, written, ingestMeasures)
      taskListRoutes(typed, store.live)
      indexingRoutes(typed, { embedder, state: indexing })
      analysis.routes(typed, cursors)
      mcpRoutes(typed)
      classificationRoutes(typed, { store: store.catalog, timeoutMs: config.catalogTimeoutMs })
    },
  })
  // Requests that do not come to their end in time are cut off, before what they work with closes.
  parts.opened('connections', () => app.server.closeAllConnections())
  parts.opened('requests', () => app.close(), config.shutdownDrainMs + config.shutdownTimeoutMs)
  parts.opened('readiness', () => {
    stopping = true
    signal.close()
  })
  await app.ready()

  return {
    app,
    operator,
    ingest,
    store,
    adminToken: { ...token, told: () => adminTokenTold(config.dataDir, token) },
    signInCodes,
    indexBacklog: search === null ? null : async () => (await search.indexing()).backlog,
    listen: () => app.listen({ host: config.host, port: config.port }),
    close: parts.handOver(),
  }
}
