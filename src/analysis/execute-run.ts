import { policyDefaults } from '../access/policy-defaults.ts'
import type { Scope } from '../access/scope.ts'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { storageFull } from '../disk-space.ts'
import { newId } from '../ids.ts'
import type { Algorithm } from './algorithm.ts'
import { algorithmOf, executed } from './algorithms.ts'
import type { AnalysisStore, InputChunk, InputPage, RunError, TakenRun } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import type { ComputeWork } from './compute/compute-in-process.ts'
import type { Computed } from './compute/compute-process.ts'
import { dimensionsOf, inputPortions } from './input-portions.ts'
import { stillOpen } from './input-scope.ts'

export interface ExecutionParts {
  readonly store: AnalysisStore
  readonly files: ArtifactFiles
  readonly compute: (work: ComputeWork) => Promise<Computed>
  /** Threads of one computation. */
  readonly threads: number
  readonly now: () => number
}

export interface Execution {
  readonly run: TakenRun
  readonly workerId: string
  /** Fires when the run is no longer this worker's, or the worker ends. */
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

/** Documents looked at by one call to the store: a few milliseconds of a reader. */
const documentsAtOnce = 500

/** What came of a computation, for the log; null where there was none. */
type RunResult = (Computed & { readonly chunks: number }) | null

/**
 * One run from `validating` to its end. Every write asks whether the run is still this worker's: what was cancelled,
 * or taken over by another, ends here without a trace. Throws when the work itself fails.
 */
export async function executeRun(execution: Execution, parts: ExecutionParts): Promise<RunResult> {
  const { run, workerId, signal } = execution
  const { store, now } = parts
  const fail = (error: RunError) => store.endRun(run.runId, workerId, { at: now(), error })
  const algorithm = algorithmOf(run.analysisType)
  // Without parameters it was created when its type was not executed.
  if (algorithm === null || run.parameters === null) {
    const others = executed.map(({ type }) => type).join(', ')
    const message = `${run.analysisType} can be created but is not executed by this version: use ${others}`
    await fail({ code: 'analysis_type_not_executed', message })
    return null
  }
  const input = await selectInput(execution, algorithm, parts)
  if ('code' in input) {
    await fail(input)
    return null
  }
  signal.throwIfAborted()
  const { chunks, withoutVector, isWaiting } = input
  const documents = new Set(chunks.map(({ documentId }) => documentId)).size
  const counts = { chunks: chunks.length, documents, withoutVector }
  if (!(await store.beginRun(run.runId, workerId, counts, isWaiting ? ['vectors_pending'] : []))) return null
  return computeArtifacts(execution, algorithm, chunks, parts)
}

/** The chunks of the input in the order of their ids, or why there is none to compute on. */
async function selectInput(
  { run, signal }: Execution,
  algorithm: Algorithm,
  { store }: ExecutionParts,
): Promise<Omit<InputPage, 'nextAfter'> | RunError> {
  const application = await store.application(run.applicationId)
  const today: Scope | null =
    application?.policy.analysis_enabled === true
      ? stillOpen(run.scope, application.entitlements.map(scopeEntryOf))
      : null
  if (application === null || today === null) {
    const message = 'nothing of this input is entitled any more: see GET /v1/account, then create another run'
    return { code: 'entitlement_changed', message }
  }
  const chunksMax = application.policy.analysis?.max_input_chunks ?? policyDefaults.analysisInputChunks
  const chunks: InputChunk[] = []
  let withoutVector = 0
  let isWaiting = false
  for (const datasetId of new Set(run.inputScope.dataset_ids)) {
    let afterDocument: string | null = null
    do {
      signal.throwIfAborted()
      const page = await store.inputChunks({
        profileId: profileOf(run, algorithm),
        scopes: [run.scope, today],
        inputScope: run.inputScope,
        cutoffAt: run.inputCutoffAt,
        datasetId,
        afterDocument,
        documents: documentsAtOnce,
        chunksMax: chunksMax - chunks.length + 1,
      })
      chunks.push(...page.chunks)
      withoutVector += page.withoutVector
      isWaiting ||= page.isWaiting
      afterDocument = page.nextAfter
      if (chunks.length > chunksMax) {
        const message = `the input has more than ${chunksMax} chunks, the most of this application: narrow input_scope`
        return { code: 'input_too_large', message }
      }
    } while (afterDocument !== null)
  }
  chunks.sort((a, b) => (a.chunkId < b.chunkId ? -1 : 1))
  return { chunks, withoutVector, isWaiting }
}

async function computeArtifacts(
  { run, workerId, signal, progress }: Execution,
  algorithm: Algorithm,
  chunks: readonly InputChunk[],
  { store, files, compute, threads, now }: ExecutionParts,
): Promise<RunResult> {
  const profileId = profileOf(run, algorithm)
  const artifactIds = Object.keys(algorithm.artifacts).map((name) => [name, newId('art', now())] as const)
  let recorded = false
  try {
    const paths: Record<string, string> = {}
    for (const [name, artifactId] of artifactIds) paths[name] = await files.draftPath(artifactId)
    const dimensions = await dimensionsOf(chunks, profileId, store)
    const computed = await compute({
      job: {
        type: run.analysisType,
        parameters: run.parameters!,
        chunksMax: chunks.length,
        dimensions,
        threads,
        paths,
      },
      portions: inputPortions(chunks, profileId, dimensions, store),
      signal,
      progress,
    })
    for (const [, artifactId] of artifactIds) await files.keep(artifactId)
    const artifacts = artifactIds.map(([name, artifactId]) => ({ artifactId, name, ...computed.files[name]! }))
    recorded = await store.endRun(run.runId, workerId, { at: now(), artifacts })
    return recorded ? { ...computed, chunks: chunks.length } : null
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? storageFull(error) : error
  } finally {
    if (!recorded) for (const [, artifactId] of artifactIds) await files.remove(artifactId)
  }
}

/** One that a request names without need is not looked at. */
const profileOf = (run: TakenRun, { needsVectors }: Algorithm): string | null =>
  needsVectors ? run.embeddingProfileId : null
