/**
 * The worker of analysis runs: takes the oldest run that waits, holds it by a lease that it keeps renewing, and
 * works on one run at a time. Of several processes on one store each run is held by one; a process that dies stops
 * renewing, and when its lease has run out another takes the run up from the start.
 *
 * What ends the work on a run early: a cancel in this process (at once), a cancel elsewhere or the loss of the lease
 * (at the next renewal), the end of the worker (the run is given up and taken by the next worker).
 */

import type { TakenRun } from '../analysis/analysis-store.ts'
import { type ExecutionParts, executeRun } from '../analysis/execute-run.ts'
import { analysisLimits } from '../analysis/limits.ts'
import { isUnavailability, TidemarkError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Incidents } from '../incidents.ts'
import type { Log } from '../log.ts'
import { dayMs } from '../time.ts'
import type { WriteNews } from '../write-news.ts'
import { repeat } from './repeating.ts'

/** One that is added wakes it. */
const lookPauses = { everyMs: 1000, whenIdleMs: 4000 }
const renewEveryMs = 500
const leaseMs = 10_000

/** A run whose computation fails is tried this often; one whose worker dies, for whatever reason, oftener. */
const failuresMax = 3
const attemptsMax = 12

const retentionEveryMs = 30_000
const retentionPortion = 100
const abandonedEveryMs = 600_000
/** A file that no artifact knows, and that nobody has written to for so long, was left by a worker that died. */
const abandonedMs = 3_600_000

export interface AnalysisWorker {
  /** A run was added. */
  wake(): void
  cancelled(runId: string): void
  stop(): Promise<void>
}

export function startAnalysis(
  parts: ExecutionParts,
  incidents: Incidents,
  logger: Log,
  news: WriteNews | null = null,
): AnalysisWorker {
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
        // Whoever cannot say in time that it lives must take it that another has the run.
        if (renewed.now >= heldUntil) abort.abort(new Error('the lease has run out'))
        if (abort.signal.aborted) return false
        if (await parts.store.renew(run.runId, renewed, progress)) heldUntil = renewed.until
        else abort.abort(new Error('the run is no longer held'))
        return false
      },
      incidents,
    )
    try {
      if (stopping) abort.abort(new Error('the worker ends'))
      if (run.attempts > attemptsMax) await giveUp(run)
      else {
        const report = (done: number): void => {
          progress = done
        }
        const computed = await executeRun({ run, workerId, signal: abort.signal, progress: report }, parts)
        incidents.worked('analysis-run')
        if (computed !== null) logger.info({ run: run.runId, ...computed }, 'an analysis run has succeeded')
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
      // No fault of the run: it waits until the store, or room for its file, is there again.
      await parts.store.releaseRun(run.runId, workerId, false)
      throw error
    }
    incidents.failed('analysis-run', error, { run: run.runId, attempt: run.attempts })
    if (run.attempts >= failuresMax) await giveUp(run)
    else await parts.store.releaseRun(run.runId, workerId, true)
  }

  const runs = repeat(
    'analysis',
    { ...lookPauses, news },
    async () => {
      const run = await parts.store.takeRun(lease(parts.now()))
      if (run === null) return false
      await work(run)
      return true
    },
    incidents,
  )
  const retention = repeat('analysis-retention', retentionEveryMs, () => applyRetention(parts), incidents)
  const cleaning = repeat(
    'analysis-abandoned-files',
    abandonedEveryMs,
    async () => {
      await removeAbandoned(parts)
      return false
    },
    incidents,
  )

  return {
    wake: () => runs.wake(),
    cancelled(runId) {
      if (current?.runId === runId) current.abort.abort(new Error('the run is cancelled'))
    },
    async stop() {
      stopping = true
      current?.abort.abort(new Error('the worker ends'))
      await Promise.all([runs.stop(), retention.stop(), cleaning.stop()])
    },
  }
}

/** Records go first: a file without a record is found by `removeAbandoned`, a record without a file would be a broken promise. */
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
