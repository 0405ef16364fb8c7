import { availableParallelism } from 'node:os'
import { analysisArtifactRoutes } from './analysis/artifact-routes.ts'
import { type ComputeWork, computeInProcess } from './analysis/compute/compute-in-process.ts'
import type { Computed } from './analysis/compute/compute-process.ts'
import { countEnds, measureRuns } from './analysis/run-measures.ts'
import { runQueueRoutes } from './analysis/run-queue-routes.ts'
import { analysisRunRoutes } from './analysis/run-routes.ts'
import { AnalysisRuns } from './analysis/runs.ts'
import { analysisSubscriptionRoutes } from './analysis/subscription-routes.ts'
import type { SubscriptionStore } from './analysis/subscription-store.ts'
import { AnalysisSubscriptions } from './analysis/subscriptions.ts'
import type { Config } from './config.ts'
import type { Cursors } from './cursors.ts'
import type { TypedApp } from './http/typed-app.ts'
import type { Incidents } from './incidents.ts'
import type { Log } from './log.ts'
import type { Measures } from './measures.ts'
import type { OpenParts } from './open-parts.ts'
import { artifactFilesOf } from './storage/artifact-stores.ts'
import { CallLost } from './threads/calls.ts'
import type { PoolWatch } from './threads/pool.ts'
import { applyRetention, startAnalysis } from './worker/analysis.ts'
import { startScheduling } from './worker/analysis-schedule.ts'
import type { WriteNews } from './write-news.ts'

/** The analysis side of an instance: its routes, and the worker that executes runs. */
export interface AnalysisSide {
  routes(app: TypedApp, cursors: Cursors): void
  /** Removes the results of runs that have ended. Returns whether there may be more. */
  expireRuns(): Promise<boolean>
  /** Another process may have added a run, or cancelled one. */
  wake(): void
}

interface AnalysisParts {
  readonly config: Config
  readonly store: SubscriptionStore
  /** The store's. */
  readonly clock: () => Promise<number>
  readonly works: boolean
  readonly parts: OpenParts
  readonly incidents: Incidents
  readonly logger: Log
  readonly pools: PoolWatch
  readonly measures: Measures
  readonly news: WriteNews | null
}

export function composeAnalysis(analysis: AnalysisParts): AnalysisSide {
  const { config, store, clock, works, parts, incidents, logger, pools, measures, news } = analysis
  const files = artifactFilesOf(config)
  // Half of the cores at low priority: requests get theirs without waiting.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2))
  measureRuns(measures, store)
  const worker = works
    ? startAnalysis(
        { store: countEnds(measures, store), files, compute: counted(pools), threads, now: Date.now },
        incidents,
        logger,
        news,
      )
    : null
  parts.opened('analysis', () => worker?.stop())
  if (worker !== null) {
    const scheduling = startScheduling({ store, clock, started: () => worker.wake() }, incidents, news)
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

/** Computing processes are in no pool, each is there for one run; they are counted as if: another is started when one dies. */
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
