import { setTimeout } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { type AdminToken, adminTokenOf, markAdminTokenShown } from '../access/admin-token.ts'
import { Authenticator } from '../access/authenticator.ts'
import { RateLimits } from '../access/rate-limits.ts'
import { SharedRates } from '../access/shared-rates.ts'
import { SignInCodes } from '../access/sign-in-codes.ts'
import { UsageBook } from '../access/usage-book.ts'
import { accountRoutes } from '../account/routes.ts'
import { catalogRoutes } from '../catalog/catalog-routes.ts'
import { classificationRoutes } from '../catalog/classification-routes.ts'
import { documentRoutes } from '../catalog/document-routes.ts'
import { ChangeSignal } from '../changes/change-signal.ts'
import { FeedMeasures } from '../changes/feed-measures.ts'
import { retentionMs } from '../changes/read-changes.ts'
import { changesRoutes } from '../changes/routes.ts'
import { exportRoutes } from '../export/routes.ts'
import { consoleRoutes } from '../http/console-routes.ts'
import { Metrics } from '../http/metrics.ts'
import { type Check, publicRoutes } from '../http/public-routes.ts'
import { makeServer } from '../http/server.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Backlog } from '../indexing/index-source.ts'
import { indexingRoutes } from '../indexing/indexing-routes.ts'
import { Ingest } from '../ingest/ingest.ts'
import { IngestMeasures } from '../ingest/ingest-measures.ts'
import { ingestRoutes } from '../ingest/routes.ts'
import { measureTasks } from '../live/live-measures.ts'
import { LiveQueries } from '../live/live-queries.ts'
import { liveRoutes } from '../live/routes.ts'
import { taskListRoutes } from '../live/task-list-routes.ts'
import { taskRoutes } from '../live/task-routes.ts'
import { mcpRoutes } from '../mcp/routes.ts'
import { measureBackups } from '../operator/backup-measures.ts'
import { erasureRoutes } from '../operator/erasure-routes.ts'
import { Erasures } from '../operator/erasures.ts'
import { Operator } from '../operator/operator.ts'
import { Removals } from '../operator/removals.ts'
import { finishRestore } from '../operator/restore-backup.ts'
import { operatorRoutes } from '../operator/routes.ts'
import { TrustedClock } from '../operator/trusted-clock.ts'
import { Cursors } from '../platform/cursors.ts'
import { measureDisk } from '../platform/disk-space.ts'
import { UnavailableError } from '../platform/errors.ts'
import { makeFolder } from '../platform/folders.ts'
import { LoggedIncidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import { entitlementCountRoutes } from '../search/entitlement-count-routes.ts'
import { liveResultRoutes } from '../search/live-result-routes.ts'
import { searchRoutes } from '../search/routes.ts'
import { valuesRoutes } from '../search/values-routes.ts'
import type { Config } from '../settings/config.ts'
import { backendOf } from '../storage/backends.ts'
import { removalOfUnusedIndexes } from '../storage/index-homes.ts'
import type { OpenStore } from '../storage/open-store.ts'
import { removalRecordOf } from '../storage/removal-records.ts'
import { measureStore } from '../storage/store-measures.ts'
import { watchPools } from '../threads/watch-pools.ts'
import { startErasures } from '../worker/erasures.ts'
import { startFeedRetention } from '../worker/feed-retention.ts'
import { followHistory } from '../worker/follow-history.ts'
import { startLive } from '../worker/live.ts'
import { startRemovals } from '../worker/removals.ts'
import { startRetention } from '../worker/retention.ts'
import { startRemovingUnused } from '../worker/unused-indexes.ts'
import { composeAnalysis } from './compose-analysis.ts'
import { artifactsCheck, diskCheck, storeCheck } from './compose-checks.ts'
import { composeSearch, ownCopyId } from './compose-search.ts'
import { OpenParts } from './open-parts.ts'

/**
 * How long a start waits for the comparison with the record of removals before the server listens. The server is not
 * ready before the comparison is complete.
 */
const comparisonWaitMs = 10_000

/**
 * The principal of the configured or generated admin token. Anybody who can set this token or read the data folder has
 * full control anyway.
 */
const ownerOfLastResort = { kind: 'admin', keyId: null, name: null, role: 'owner' } as const

/** An instance whose parts are open. It serves requests after `listen`, until `close`. */
export interface Instance {
  readonly app: FastifyInstance
  readonly operator: Operator
  readonly ingest: Ingest
  readonly store: OpenStore['store']
  /** Call `shown` after the token was printed. */
  readonly adminToken: Pick<AdminToken, 'made' | 'mustBeShown'> & { shown(): Promise<void> }
  /** Codes that sign a person in to the console. */
  readonly signInCodes: SignInCodes
  /** The work that the search index has not done yet; null if this process has no index. */
  readonly indexBacklog: (() => Promise<Backlog>) | null
  listen(): Promise<string>
  /** Closes in the reverse order of opening. Rejects, after all parts have been closed, if one failed. */
  close(): Promise<void>
}

export async function compose(config: Config, logger: FastifyBaseLogger): Promise<Instance> {
  const isApi = config.roles.includes('api')
  const isWorker = config.roles.includes('worker')
  await makeFolder(config.dataDir)
  await finishRestore(config.dataDir)
  await using parts = new OpenParts(logger)
  const metrics = new Metrics()
  const incidents = new LoggedIncidents(logger, metrics)
  metrics.reportTo(incidents)
  const pools = watchPools(metrics, logger)
  const tracer = await openTracer(config, parts, metrics, logger)

  const backend = backendOf(config)
  const { shared } = backend
  const stillUnavailable = (why: Error): void =>
    incidents.failed('open-store', new UnavailableError(why.message, { cause: why }))
  const open = withTracedCalls(await backend.open({ watch: pools, measures: metrics, stillUnavailable }), tracer)
  incidents.worked('open-store')
  parts.opened('store', () => open.close())
  const { store } = open
  const history = await followHistory({
    store: store.history,
    dataDir: config.dataDir,
    now: Date.now,
    incidents,
    logger,
    notifications: open.notifications,
  })
  const usage = new UsageBook(store.access, incidents)
  parts.opened('usage', () => usage.close())
  const operator = new Operator(store.operator)
  const cursors = await Cursors.load(store.access, incidents)
  const signal = new ChangeSignal(async () => (await store.changes.state()).newest, incidents)
  const search = isApi
    ? await composeSearch({
        config,
        open,
        shared,
        operator,
        history,
        parts,
        incidents,
        logger,
        pools,
        measures: metrics,
        tracer,
      })
    : null
  const trusted = new TrustedClock(store.clock, Date.now, logger)
  const analysis = composeAnalysis({
    config,
    store: store.analysis,
    clock: () => open.now(),
    isWorker,
    trusted,
    parts,
    incidents,
    logger,
    pools,
    measures: metrics,
    notifications: open.notifications,
    tracer,
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
  const removals = new Removals({
    recordOf: async () => {
      const instance = await store.indexSource.instance()
      return instance === null ? null : removalRecordOf(config, instance)
    },
    erasures: store.erasures,
    operator,
    hidden: written,
    loss: () => history.loss()?.historyId ?? null,
    isWorker,
    now: Date.now,
    logger,
  })
  const removalLoop = startRemovals(
    { removals, operator: operator.read, isWorker, notifications: open.notifications },
    incidents,
  )
  parts.opened('removal record', () => removalLoop.stop())
  const following = history.follow(async (why) => {
    removals.compareAgain()
    removalLoop.wake()
    await search?.rebuild(why)
  })
  parts.opened('history', () => following.stop())
  // After a rollback of the store, erased documents must stay hidden and revoked keys invalid. The wait is limited,
  // because the record may be very long.
  await Promise.race([removalLoop.firstComparison, setTimeout(comparisonWaitMs, undefined, { ref: false })])
  const removeUnused = removalOfUnusedIndexes(config)
  const removing =
    removeUnused === null
      ? null
      : startRemovingUnused(
          { remove: removeUnused, source: store.indexSource, copyId: ownCopyId(shared, config.dataDir), logger },
          incidents,
        )
  if (removing !== null) parts.opened('removal of unused indexes', () => removing.stop())
  if (isWorker) {
    const { scrub } = open
    const { expireRuns } = analysis
    const jobs = [
      startFeedRetention(store.changes, trusted, incidents),
      startLive(store.live, trusted, incidents, open.notifications, tracer),
      startErasures(
        {
          store: store.erasures,
          scrub,
          removeUnusedIndexes: async () => removing === null || (await removing.removeNow()),
          expireRuns,
          isRecorded(erasureId) {
            const isWritten = removals.isWritten(erasureId)
            if (!isWritten) removalLoop.wake()
            return isWritten
          },
          clock: trusted,
          now: Date.now,
          notifications: open.notifications,
        },
        incidents,
      ),
      startRetention(store.erasures, Date.now, trusted, incidents),
    ]
    metrics.gauge(
      {
        name: 'tidemark_clock_trusted',
        help: '0 while no old data is removed, because the clock is far ahead.',
      },
      () => Number(trusted.isTrusted),
    )
    metrics.gauge(
      {
        name: 'tidemark_erasures_unrecorded',
        help: 'Erasures that this process has yet to write into the record of erasures.',
      },
      () => removals.waiting,
    )
    parts.opened('jobs', () => Promise.all(jobs.map((job) => job.stop())))
  }

  // This comes after everything that can fail, because a created token must be shown.
  const token = await adminTokenOf(config.dataDir, config.adminToken)
  const authenticator = new Authenticator(store.access, [{ hash: token.hash, principal: ownerOfLastResort }])
  operator.onChange(() => {
    authenticator.forget()
    removalLoop.wake()
  })
  open.onForeignWrite((port) => {
    if (port === 'content') written()
    else if (port === 'operator') {
      authenticator.forget()
      removalLoop.wake()
    } else if (port === 'analysis') analysis.wake()
  }, incidents)

  measureStore(metrics, open)
  measureDisk(metrics, config.dataDir)
  measureBackups(metrics, config.dataDir, () => store.operator.recordedBackups())
  measureTasks(metrics, store.live)
  const signInCodes = new SignInCodes()
  let stopping = false
  const checks: Record<string, Check> = {
    ...(isWorker ? { artifacts: artifactsCheck(config) } : {}),
    ...(search === null ? {} : { index: search.check }),
    disk: () => diskCheck(config.dataDir, shared, open),
    removals: async () => removals.condition(),
    serving: async () => ({ ok: !stopping, detail: stopping ? 'shutting down' : 'accepting requests' }),
    store: () => storeCheck(open, history.loss(), trusted.trouble),
  }
  const app = await makeServer({
    logger,
    tracer,
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
      // A process with only background work still serves its health checks.
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
      changesRoutes(typed, { log: store.changes, signal, cursors, usage, measures: feedMeasures, tracer })
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
      searchRoutes(typed, {
        searcher,
        measures: search.measures,
        cursors,
        usage,
        live,
        tracer,
      })
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
  // Requests that do not finish in time are cut off before the parts that they use are closed.
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
    adminToken: { ...token, shown: () => markAdminTokenShown(config.dataDir, token) },
    signInCodes,
    indexBacklog: search === null ? null : async () => (await search.indexing()).backlog,
    listen: () => app.listen({ host: config.host, port: config.port }),
    close: parts.handOver(),
  }
}

/** Loads the tracing library only if tracing is on. */
async function openTracer(config: Config, parts: OpenParts, measures: Metrics, logger: Log): Promise<Tracer> {
  if (config.tracing === null) return untraced
  const { openTracing } = await import('../tracing/open-tracing.ts')
  const { tracer, close } = await openTracing(config.tracing, measures, logger)
  parts.opened('traces', close)
  return tracer
}

function withTracedCalls(open: OpenStore, tracer: Tracer): OpenStore {
  const ports = Object.entries(open.store).map(([name, port]) => [name, tracer.traceMethods(`store ${name}.`, port)])
  return { ...open, store: Object.fromEntries(ports) as OpenStore['store'] }
}
