/**
 * The worker of analysis runs. It takes the oldest waiting run, holds it by a lease that it keeps renewing, and works
 * on one run at a time. If several processes share a store, each run has one holder. When the lease of a process that
 * exited has expired, another process starts the run again.
 *
 * Work on a run ends early on a cancel in this process (at once), on a cancel elsewhere or a lost lease (at the next
 * renewal), and at the end of the worker (the run is released for the next worker).
 */

import type { TakenRun } from '../analysis/analysis-store.ts'
import { type ExecutionParts, executeRun } from '../analysis/execute-run.ts'
import { analysisLimits } from '../analysis/limits.ts'
import { type TrustedClock, whileTrusted } from '../operator/trusted-clock.ts'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { dayMs } from '../platform/time.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { repeat } from './repeating.ts'

/** A new run wakes the worker before the next check. */
const checkPauses = { everyMs: 1000, whenIdleMs: 4000 }
const renewEveryMs = 500
const leaseMs = 10_000

/** Attempts of a run whose computation fails. A run whose worker exits, for any reason, gets more. */
const failuresMax = 3
const attemptsMax = 12

const retentionEveryMs = 30_000
const retentionPortion = 100
const abandonedEveryMs = 600_000
/** A file that no artifact refers to, and that was not written for this long, was left by a worker that exited. */
const abandonedMs = 3_600_000

export interface WorkerParts extends ExecutionParts {
  /** Guards all removal by age. */
  readonly clock: Pick<TrustedClock, 'trusts'>
  readonly tracer?: Tracer
}

export interface AnalysisWorker {
  /** Called when a run was added. */
  wake(): void
  cancelled(runId: string): void
  stop(): Promise<void>
}

export function startAnalysis(
  parts: WorkerParts,
  incidents: Incidents,
  logger: Log,
  notifications: WriteNotifications | null = null,
): AnalysisWorker {
  const { tracer = untraced } = parts
  const workerId = newId('task')
  let current: { readonly runId: string; readonly abort: AbortController } | null = null
  let stopping = false

  const lease = (now: number) => ({ workerId, now, until: now + leaseMs })

  const work = async (run: TakenRun): Promise<void> => {
    const abort = new AbortController()
    current = { runId: run.runId, abort }
    let progress = 0
    let heldUntil = parts.now() + leaseMs
    const renewing = repeat(
      'analysis-lease',
      renewEveryMs,
      async () => {
        const renewed = lease(parts.now())
        // A worker that cannot renew in time must assume that another one has the run.
        if (renewed.now >= heldUntil) abort.abort(new Error('the lease has expired'))
        if (abort.signal.aborted) return false
        if (await parts.store.renew(run.runId, renewed, progress)) heldUntil = renewed.until
        else abort.abort(new Error('the run is no longer held'))
        return false
      },
      incidents,
    )
    try {
      if (stopping) abort.abort(new Error('the worker is stopping'))
      if (run.attempts > attemptsMax) await giveUp(run)
      else {
        const report = (done: number): void => {
          progress = done
        }
        const computed = await executeRun({ run, workerId, signal: abort.signal, progress: report }, parts)
        incidents.worked('analysis-run')
        if (computed !== null) logger.info({ run: run.runId, ...computed }, 'an analysis run succeeded')
      }
    } catch (error) {
      if (stopping) await parts.store.releaseRun(run.runId, workerId, false)
      else if (!abort.signal.aborted) await failed(run, error)
    } finally {
      current = null
      await renewing.stop()
    }
  }

  const giveUp = (run: TakenRun): Promise<boolean> =>
    parts.store.endRun(run.runId, workerId, {
      at: parts.now(),
      error: {
        code: 'internal',
        message: 'the computation failed several times: try again later, or with a smaller input',
      },
    })

  const failed = async (run: TakenRun, error: unknown): Promise<void> => {
    if (error instanceof TidemarkError && isUnavailability(error)) {
      // The run is not at fault: it waits until the store, or space for its file, is available.
      await parts.store.releaseRun(run.runId, workerId, false)
      throw error
    }
    incidents.failed('analysis-run', error, { run: run.runId, attempt: run.attempts })
    if (run.attempts >= failuresMax) await giveUp(run)
    else await parts.store.releaseRun(run.runId, workerId, true)
  }

  const runs = repeat(
    'analysis',
    { ...checkPauses, notifications },
    async () => {
      const run = await parts.store.takeRun(lease(parts.now()))
      if (run === null) return false
      await tracer.span('analysis run', () => work(run), { 'tidemark.analysis_type': run.analysisType })
      return true
    },
    incidents,
  )
  const retention = repeat(
    'analysis-retention',
    retentionEveryMs,
    whileTrusted(parts.clock, () => applyRetention(parts)),
    incidents,
  )
  const cleaning = repeat(
    'analysis-abandoned-files',
    abandonedEveryMs,
    whileTrusted(parts.clock, async () => {
      await removeAbandoned(parts)
      return false
    }),
    incidents,
  )

  return {
    wake: () => runs.wake(),
    cancelled(runId) {
      if (current?.runId === runId) current.abort.abort(new Error('the run is cancelled'))
    },
    async stop() {
      stopping = true
      current?.abort.abort(new Error('the worker is stopping'))
      await Promise.all([runs.stop(), retention.stop(), cleaning.stop()])
    },
  }
}

/**
 * Removes records before files: `removeAbandoned` removes a file without a record, but a record without a file would
 * stay and fail to be read.
 */
export async function applyRetention({
  store,
  files,
  now,
}: Pick<ExecutionParts, 'store' | 'files' | 'now'>): Promise<boolean> {
  const { expired, artifactIds } = await store.expireRuns(now(), retentionPortion)
  for (const artifactId of artifactIds) await files.remove(artifactId)
  const removed = await store.removeRuns(now() - analysisLimits.expiredDays * dayMs, retentionPortion)
  return expired === retentionPortion || removed === retentionPortion
}

export async function removeAbandoned({ store, files, now }: ExecutionParts): Promise<void> {
  const untouched = await files.untouchedSince(now() - abandonedMs)
  for (let start = 0; start < untouched.length; start += retentionPortion) {
    const some = untouched.slice(start, start + retentionPortion)
    const known = new Set(await store.knownArtifacts(some))
    for (const artifactId of some) if (!known.has(artifactId)) await files.remove(artifactId)
  }
}
