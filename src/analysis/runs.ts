import type { Readable } from 'node:stream'
import { type Claim, claimFor } from '../access/claim.ts'
import { isExecuted } from '../access/policy-limits.ts'
import type { Consumer } from '../access/principal.ts'
import { invalidField, TidemarkError } from '../platform/errors.ts'
import { isId, newId } from '../platform/ids.ts'
import { dayMs } from '../platform/time.ts'
import type { AnalysisStore, Artifact, Run } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import { type AnalysisRequest, checkRequest, notFound } from './check-request.ts'
import { analysisLimits } from './limits.ts'
import { checkParameters, needsOf } from './parameters.ts'
import { nextStatus, type RunStatus } from './run-states.ts'

export interface RunRequest extends AnalysisRequest {
  /** Unchanged from the request; the analysis type defines them. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly inputCutoffAt: number | null
  readonly retentionDays: number
}

/** It is unknown when an unfinished run ends. This is a sensible interval to ask again. */
const retryAfterSeconds = 5

export interface RunsParts {
  readonly store: AnalysisStore
  readonly files: ArtifactFiles
  /** Called when a run waits for a worker. */
  readonly added: () => void
  /** Called when a run was cancelled, so that a worker of this process stops at once. */
  readonly cancelled: (runId: string) => void
  readonly now?: () => number
}

/** The operations of an application on its runs. A run of another application counts as missing. */
export class AnalysisRuns {
  readonly #parts: RunsParts
  readonly #now: () => number

  constructor(parts: RunsParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
  }

  async create(consumer: Consumer, request: RunRequest, claim: Claim | null = null): Promise<Run> {
    const now = this.#now()
    const { store } = this.#parts
    const { analysisType } = request
    const parameters = checkParameters(analysisType, request.parameters, isExecuted(consumer.policy, analysisType))
    const { clockAheadSecondsMax } = analysisLimits
    if (request.inputCutoffAt !== null && request.inputCutoffAt > now + clockAheadSecondsMax * 1000) {
      const message = `must not be more than ${clockAheadSecondsMax} seconds in the future`
      throw invalidField('invalid_analysis_request', 'input_cutoff_at', message)
    }
    const needs = needsOf(analysisType, parameters)
    const scope = await checkRequest(request, consumer, store, 'invalid_analysis_request', needs)
    const run = {
      runId: newId('run', now),
      applicationId: consumer.applicationId,
      analysisType,
      embeddingProfileId: request.embeddingProfileId,
      inputScope: request.inputScope,
      parameters,
      inputCutoffAt: Math.min(request.inputCutoffAt ?? now, now),
      retentionDays: request.retentionDays,
      scope,
      createdAt: now,
      expiresAt: now + request.retentionDays * dayMs,
    }
    const concurrentMax = consumer.policy.analysis?.max_concurrent_runs ?? null
    if (!(await store.addRun(run, concurrentMax, claimFor(claim, run.runId)))) {
      const message = `this application can have ${concurrentMax} unfinished runs: wait for one to finish, or cancel one`
      throw new TidemarkError('rate_limit_exceeded', message, { retryAfterSeconds })
    }
    this.#parts.added()
    return {
      ...run,
      status: 'queued',
      progress: 0,
      startedAt: null,
      completedAt: null,
      error: null,
      input: null,
      warnings: [],
      subscription: null,
    }
  }

  async read(consumer: Consumer, runId: string): Promise<Run> {
    const run = await this.#find(consumer, runId)
    if (run === null) throw notFound('run')
    return run
  }

  async list(
    consumer: Consumer,
    page: { readonly status: RunStatus | null; readonly before: string | null; readonly limit: number },
  ): Promise<readonly Run[]> {
    const now = this.#now()
    const runs = await this.#parts.store.runs({
      applicationId: consumer.applicationId,
      ...page,
      now,
      goneBefore: now - analysisLimits.expiredDays * dayMs,
    })
    return runs.map((run) => runAt(run, now)!)
  }

  /** Cancelling a cancelled run changes nothing; a run that ended otherwise cannot be cancelled. */
  async cancel(consumer: Consumer, runId: string): Promise<Run> {
    const now = this.#now()
    const found = isId('run', runId) ? await this.#parts.store.cancelRun(consumer.applicationId, runId, now) : null
    const run = found === null ? null : runAt(found, now)
    if (run === null) throw notFound('run')
    if (run.status !== 'cancelled') {
      throw new TidemarkError('analysis_run_finished', `this run has already finished (${run.status})`)
    }
    this.#parts.cancelled(runId)
    return run
  }

  async artifacts(consumer: Consumer, runId: string): Promise<{ run: Run; artifacts: readonly Artifact[] }> {
    const run = await this.read(consumer, runId)
    return { run, artifacts: run.status === 'succeeded' ? await this.#parts.store.artifacts(runId) : [] }
  }

  /**
   * Throws the same error for a missing run, a missing artifact and one of another application, so that ids cannot be
   * probed.
   */
  async artifact(consumer: Consumer, runId: string, artifactId: string): Promise<Artifact> {
    const run = await this.#find(consumer, runId)
    const artifacts = run?.status === 'succeeded' ? await this.#parts.store.artifacts(runId) : []
    const found = artifacts.find((one) => one.artifactId === artifactId)
    if (found === undefined) throw artifactNotFound()
    return found
  }

  /** Returns the bytes of an artifact from `start` to `end`, inclusive. */
  async bytes(artifact: Artifact, start: number, end: number): Promise<Readable> {
    const stream = await this.#parts.files.read(artifact, start, end)
    if (stream === null) throw artifactLost(artifact)
    return stream
  }

  /** Returns a URL for a direct download of the whole file; null if there is none. */
  address(artifact: Artifact): Promise<string | null> {
    return this.#parts.files.addressOf(artifact)
  }

  async #find(consumer: Consumer, runId: string): Promise<Run | null> {
    const run = isId('run', runId) ? await this.#parts.store.run(consumer.applicationId, runId) : null
    return run === null ? null : runAt(run, this.#now())
  }
}

/** Returns the run as it is at this time. Expiry counts from the moment it is due, not from when retention runs. */
export function runAt(run: Run, now: number): Run | null {
  if (now < run.expiresAt) return run
  if (now >= run.expiresAt + analysisLimits.expiredDays * dayMs) return null
  return { ...run, status: nextStatus(run.status, 'expire') ?? run.status }
}

const artifactNotFound = () =>
  new TidemarkError(
    'analysis_artifact_not_found',
    'no such artifact in this application: list the artifacts of the run',
  )

/** The run lists the artifact, so a missing or damaged file is a server error. */
const artifactLost = ({ artifactId, bytes }: Artifact) =>
  new TidemarkError(
    'internal',
    'the file of this artifact is lost or damaged: create the run again, or ask the operator to restore the file',
    { cause: new Error(`artifact ${artifactId}: there is no file of ${bytes} bytes among the artifacts`) },
  )
