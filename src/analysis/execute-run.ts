import { policyDefaults } from '../access/policy-defaults.ts'
import { isExecuted } from '../access/policy-limits.ts'
import type { Scope } from '../access/scope.ts'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { storageFull } from '../platform/disk-space.ts'
import { newId } from '../platform/ids.ts'
import { type Algorithm, isInputTooLarge, type Series } from './algorithm.ts'
import { algorithms } from './algorithms.ts'
import type { ApplicationAccess, InputPage, InputRow, RunError, RunWarning, TakenRun } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { ComputeWork } from './compute/compute-in-process.ts'
import type { Computed } from './compute/compute-process.ts'
import { dimensionsOf, inputPortions } from './input-portions.ts'
import { stillOpen } from './input-scope.ts'
import { previousResult } from './previous-result.ts'
import type { SubscriptionStore } from './subscription-store.ts'

export interface ExecutionParts {
  readonly store: SubscriptionStore
  readonly files: ArtifactFiles
  readonly compute: (work: ComputeWork) => Promise<Computed>
  /** Threads of one computation. */
  readonly threads: number
  readonly now: () => number
}

export interface Execution {
  readonly run: TakenRun
  readonly workerId: string
  /** Fires when this worker no longer holds the run, or is stopping. */
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

/** Documents scanned by one call to the store. Small, because a call occupies a reader of the store. */
const documentsAtOnce = 500

/** The result of a computation for the log; null if there was none. */
type RunResult = (Computed & { readonly rows: number }) | null

/**
 * Takes one run from `validating` to its end. Every write checks whether this worker still holds the run. If the run
 * was cancelled, or taken over by another worker, this stops and leaves nothing behind. Throws if the work itself
 * fails.
 */
export async function executeRun(execution: Execution, parts: ExecutionParts): Promise<RunResult> {
  const { run, workerId, signal } = execution
  const { store, now } = parts
  const fail = (error: RunError) => store.endRun(run.runId, workerId, { at: now(), error })
  const application = await store.application(run.applicationId)
  const algorithm = executedAlgorithm(run, application)
  if (algorithm === null) {
    const message = `${run.analysisType} runs are not executed for this application: its policy does not list the type in analysis.types`
    await fail({ code: 'analysis_type_not_executed', message })
    return null
  }
  const input = await selectInput(execution, algorithm, application, parts)
  if ('code' in input) {
    await fail(input)
    return null
  }
  signal.throwIfAborted()
  const { rows, withoutVector, isWaiting } = input
  const chunks = algorithm.needsVectors ? rows.length : 0
  const documents = new Set(rows.map(({ documentId }) => documentId)).size
  const counts = { chunks, documents, withoutVector }
  const { series, isLost } = await seriesOf(run, algorithm, parts)
  const warnings: RunWarning[] = []
  if (isWaiting) warnings.push('vectors_pending')
  if (isLost) warnings.push('history_lost')
  if (!(await store.beginRun(run.runId, workerId, counts, warnings))) return null
  try {
    return await computeArtifacts(execution, algorithm, { ...input, series }, parts)
  } catch (error) {
    if (!isInputTooLarge(error)) throw error
    await fail({ code: error.code, message: error.message })
    return null
  }
}

/** Returns null if the type is not enabled. A run without parameters was created while its type was not enabled. */
function executedAlgorithm(run: TakenRun, application: ApplicationAccess | null): Algorithm | null {
  const isOn = application === null || isExecuted(application.policy, run.analysisType)
  return isOn && run.parameters !== null ? algorithms[run.analysisType] : null
}

/**
 * Returns the position of the run in its series, with the artifact that it follows. Only runs of a subscription have
 * one, and only if their algorithm follows an artifact.
 */
async function seriesOf(
  run: TakenRun,
  { follows }: Algorithm,
  parts: ExecutionParts,
): Promise<{ readonly series: Series | null; readonly isLost: boolean }> {
  if (run.subscription === null || follows === undefined) return { series: null, isLost: false }
  const { bytes, isLost } = await previousResult(run, follows, parts)
  const { turn } = run.subscription
  return { series: { runId: run.runId, turn, cutoffAt: run.inputCutoffAt, before: bytes }, isLost }
}

interface Input extends Omit<InputPage, 'nextAfter'> {
  /** A document must be open to all of them. */
  readonly scopes: readonly Scope[]
}

/** Returns the rows of the input in id order, or the error that ends the run. */
async function selectInput(
  { run, signal }: Execution,
  algorithm: Algorithm,
  application: ApplicationAccess | null,
  { store }: ExecutionParts,
): Promise<Input | RunError> {
  const today: Scope | null =
    application?.policy.analysis_enabled === true
      ? stillOpen(run.scope, application.entitlements.map(scopeEntryOf), algorithm.needs(run.parameters!))
      : null
  if (application === null || today === null) {
    const message = 'the application may no longer read any of this input: check GET /v1/account, then create a new run'
    return { code: 'entitlement_changed', message }
  }
  const scopes = [run.scope, today]
  const chunksMax = application.policy.analysis?.max_input_chunks ?? policyDefaults.analysisInputChunks
  const rows: InputRow[] = []
  let withoutVector = 0
  let isWaiting = false
  for (const datasetId of new Set(run.inputScope.dataset_ids)) {
    let afterDocument: string | null = null
    do {
      signal.throwIfAborted()
      const page = await store.inputRows({
        profileId: profileOf(run, algorithm),
        scopes,
        inputScope: run.inputScope,
        cutoffAt: run.inputCutoffAt,
        datasetId,
        afterDocument,
        documents: documentsAtOnce,
        rowsMax: chunksMax - rows.length + 1,
      })
      rows.push(...page.rows)
      withoutVector += page.withoutVector
      isWaiting ||= page.isWaiting
      afterDocument = page.nextAfter
      if (rows.length > chunksMax) {
        const what = algorithm.needsVectors ? 'chunks' : 'documents'
        const message = `the input has more than ${chunksMax} ${what}, the limit for this application: narrow input_scope`
        return { code: 'input_too_large', message }
      }
    } while (afterDocument !== null)
  }
  const idOf = (row: InputRow): string => row.chunkId ?? row.documentId
  rows.sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  return { rows, withoutVector, isWaiting, scopes }
}

async function computeArtifacts(
  { run, workerId, signal, progress }: Execution,
  algorithm: Algorithm,
  { rows, scopes, series }: Input & { readonly series: Series | null },
  { store, files, compute, threads, now }: ExecutionParts,
): Promise<RunResult> {
  const profileId = profileOf(run, algorithm)
  const artifactIds = Object.entries(algorithm.artifacts)
    .filter(([, { ofSeries }]) => series !== null || ofSeries === undefined)
    .map(([name]) => [name, newId('art', now())] as const)
  let recorded = false
  try {
    await files.prepare()
    const paths: Record<string, string> = {}
    for (const [name, artifactId] of artifactIds) paths[name] = await files.draftPath(artifactId)
    const dimensions = await dimensionsOf(rows, profileId, store)
    const reading = { profileId, dimensions, reads: algorithm.reads, scopes, cutoffAt: run.inputCutoffAt }
    const computed = await compute({
      job: {
        type: run.analysisType,
        parameters: run.parameters!,
        rowsMax: rows.length,
        dimensions,
        threads,
        series,
        paths,
      },
      portions: inputPortions(rows, reading, store),
      signal,
      progress,
    })
    const artifacts = artifactIds.map(([name, artifactId]) => ({ artifactId, name, ...computed.files[name]! }))
    for (const artifact of artifacts) await files.keep(artifact)
    recorded = await store.endRun(run.runId, workerId, { at: now(), artifacts })
    return recorded ? { ...computed, rows: rows.length } : null
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? storageFull(error) : error
  } finally {
    if (!recorded) for (const [, artifactId] of artifactIds) await files.remove(artifactId)
  }
}

/** A profile is ignored if the type needs no vectors. */
const profileOf = (run: TakenRun, { needsVectors }: Algorithm): string | null =>
  needsVectors ? run.embeddingProfileId : null
