import { availableParallelism } from 'node:os'
import { analysisArtifactRoutes } from '../analysis/artifact-routes.ts'
import { type ComputeWork, computeInProcess } from '../analysis/compute/compute-in-process.ts'
import type { Computed } from '../analysis/compute/compute-process.ts'
import { countEnds, measureRuns } from '../analysis/run-measures.ts'
import { runQueueRoutes } from '../analysis/run-queue-routes.ts'
import { analysisRunRoutes } from '../analysis/run-routes.ts'
import { AnalysisRuns } from '../analysis/runs.ts'
import { analysisSubscriptionRoutes } from '../analysis/subscription-routes.ts'
import type { SubscriptionStore } from '../analysis/subscription-store.ts'
import { AnalysisSubscriptions } from '../analysis/subscriptions.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { TrustedClock } from '../operator/trusted-clock.ts'
import type { Cursors } from '../platform/cursors.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { Measures } from '../platform/measures.ts'
import type { Tracer } from '../platform/tracing.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import type { Config } from '../settings/config.ts'
import { artifactFilesOf } from '../storage/artifact-stores.ts'
import { CallLost } from '../threads/calls.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { applyRetention, startAnalysis } from '../worker/analysis.ts'
import { startScheduling } from '../worker/analysis-schedule.ts'
import type { OpenParts } from './open-parts.ts'

/** The analysis side of an instance: its routes, and the worker that executes runs. */
export interface AnalysisSide {
  routes(app: TypedApp, cursors: Cursors): void
  /** Removes the results of runs whose retention is over. Returns whether there may be more. */
  expireRuns(): Promise<boolean>
  /** Called when another process may have added or cancelled a run. */
  wake(): void
}

interface AnalysisParts {
  readonly config: Config
  readonly store: SubscriptionStore
  /** The clock of the store. */
  readonly clock: () => Promise<number>
  readonly isWorker: boolean
  readonly trusted: Pick<TrustedClock, 'trusts'>
  readonly parts: OpenParts
  readonly incidents: Incidents
  readonly logger: Log
  readonly pools: PoolWatch
  readonly measures: Measures
  readonly notifications: WriteNotifications | null
  readonly tracer: Tracer
}

export function composeAnalysis(analysis: AnalysisParts): AnalysisSide {
  const { config, store, clock, trusted, isWorker, parts, incidents, logger, pools, measures, notifications, tracer } =
    analysis
  const files = artifactFilesOf(config)
  // Half of the cores, at low priority, so that requests need not wait for a core.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2))
  measureRuns(measures, store)
  const compute = counted(pools)
  const worker = isWorker
    ? startAnalysis(
        {
          store: countEnds(measures, store),
          files,
          compute: (work) => tracer.childSpan('analysis compute', () => compute(work)),
          threads,
          now: Date.now,
          clock: trusted,
          tracer,
        },
        incidents,
        logger,
        notifications,
      )
    : null
  parts.opened('analysis', () => worker?.stop())
  if (worker !== null) {
    const scheduling = startScheduling({ store, clock, started: () => worker.wake() }, incidents, notifications)
    parts.opened('analysis schedule', () => scheduling.stop())
  }
  const runs = new AnalysisRuns({
    store,
    files,
    added: () => worker?.wake(),
    cancelled: (runId) => worker?.cancelled(runId),
  })
  const subscriptions = new AnalysisSubscriptions(store)
  return {
    routes(app, cursors) {
      analysisRunRoutes(app, runs, cursors)
      analysisArtifactRoutes(app, runs)
      analysisSubscriptionRoutes(app, subscriptions, cursors)
      runQueueRoutes(app, store)
    },
    expireRuns: () => applyRetention({ store, files, now: Date.now }),
    wake: () => worker?.wake(),
  }
}

/** Counts computing processes as members of a pool. Each process computes one run. */
const counted =
  (pools: PoolWatch) =>
  async (work: ComputeWork): Promise<Computed> => {
    pools.members('algorithm', 1)
    try {
      return await computeInProcess(work)
    } catch (error) {
      if (error instanceof CallLost && !work.signal.aborted) pools.replaced('algorithm')
      throw error
    } finally {
      pools.members('algorithm', -1)
    }
  }
