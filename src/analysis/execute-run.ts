import { scopeEntryOf } from '../access/entitlement.ts'
import { policyDefaults } from '../access/policy.ts'
import type { Scope } from '../access/scope.ts'
import { storageFull } from '../disk-space.ts'
import { newId } from '../ids.ts'
import type { AnalysisStore, InputChunk, InputPage, RunError, TakenRun } from './analysis-store.ts'
import type { ArtifactFiles } from './artifact-files.ts'
import { stillOpen } from './input-scope.ts'
import type { GraphCost, NodePortion } from './knn/compute-graph.ts'
import type { WrittenFile } from './knn/edge-table.ts'
import type { GraphWork } from './knn/graph-child.ts'

export interface ExecutionParts {
  readonly store: AnalysisStore
  readonly files: ArtifactFiles
  readonly compute: (work: GraphWork) => Promise<WrittenFile & GraphCost>
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

/** Documents looked at, and vectors read, by one call to the store: a few milliseconds of a reader, about 1 MB. */
const documentsAtOnce = 500
const vectorsAtOnce = 256

/** What came of a computation, for the log; null where there was none. */
export type Computed = (WrittenFile & GraphCost & { readonly chunks: number }) | null

/**
 * One run from `validating` to its end. Every write asks whether the run is still this worker's: what was cancelled,
 * or taken over by another, ends here without a trace. Throws when the work itself fails.
 */
export async function executeRun(execution: Execution, parts: ExecutionParts): Promise<Computed> {
  const { run, workerId, signal } = execution
  const { store, now } = parts
  const fail = (error: RunError) => store.endRun(run.runId, workerId, { at: now(), error })
  if (run.analysisType !== 'knn_graph') {
    const message = `${run.analysisType} can be created but is not executed by this version: use knn_graph`
    await fail({ code: 'analysis_type_not_executed', message })
    return null
  }
  const input = await selectInput(execution, parts)
  if ('code' in input) {
    await fail(input)
    return null
  }
  signal.throwIfAborted()
  const { chunks, withoutVector, isWaiting } = input
  const documents = new Set(chunks.map(({ documentId }) => documentId)).size
  const counts = { chunks: chunks.length, documents, withoutVector }
  if (!(await store.beginRun(run.runId, workerId, counts, isWaiting ? ['vectors_pending'] : []))) return null
  return computeArtifact(execution, chunks, parts)
}

/** The chunks of the input in the order of their ids, or why there is none to compute on. */
async function selectInput(
  { run, signal }: Execution,
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
        profileId: run.embeddingProfileId!,
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

async function computeArtifact(
  { run, workerId, signal, progress }: Execution,
  chunks: readonly InputChunk[],
  { store, files, compute, threads, now }: ExecutionParts,
): Promise<Computed> {
  const profileId = run.embeddingProfileId!
  const artifactId = newId('art', now())
  let recorded = false
  try {
    const dimensions = await dimensionsOf(profileId, chunks, store)
    const file = await compute({
      job: {
        dimensions,
        nodesMax: chunks.length,
        k: run.parameters!.k,
        minSimilarity: run.parameters!.min_similarity,
        threads,
        path: await files.draftPath(artifactId),
      },
      portions: portionsOf(profileId, dimensions, chunks, store),
      signal,
      progress,
    })
    await files.keep(artifactId)
    const artifact = { artifactId, name: 'edges', rows: file.rows, bytes: file.bytes, sha256: file.sha256 }
    recorded = await store.endRun(run.runId, workerId, { at: now(), artifacts: [artifact] })
    return recorded ? { ...file, chunks: chunks.length } : null
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? storageFull(error) : error
  } finally {
    if (!recorded) await files.remove(artifactId)
  }
}

/** A profile whose endpoint has not yet said its dimensions: the first vector does. */
async function dimensionsOf(profileId: string, chunks: readonly InputChunk[], store: AnalysisStore): Promise<number> {
  const known = (await store.profile(profileId))?.dimensions ?? null
  if (known !== null || chunks.length === 0) return known ?? 1
  const [first] = await store.chunkVectors(profileId, [chunks[0]!.chunkId])
  return first?.vector.length ?? 1
}

/** A chunk whose vector is gone by now, or has other dimensions than the profile, is left out. */
async function* portionsOf(
  profileId: string,
  dimensions: number,
  chunks: readonly InputChunk[],
  store: AnalysisStore,
): AsyncGenerator<NodePortion> {
  for (let start = 0; start < chunks.length; start += vectorsAtOnce) {
    const some = chunks.slice(start, start + vectorsAtOnce)
    const read = await store.chunkVectors(
      profileId,
      some.map(({ chunkId }) => chunkId),
    )
    const vectorOf = new Map(read.map(({ chunkId, vector }) => [chunkId, vector]))
    const usable = some.filter(({ chunkId }) => vectorOf.get(chunkId)?.length === dimensions)
    const vectors = new Float32Array(usable.length * dimensions)
    for (const [i, { chunkId }] of usable.entries()) vectors.set(vectorOf.get(chunkId)!, i * dimensions)
    yield {
      chunkIds: usable.map(({ chunkId }) => chunkId),
      documentIds: usable.map(({ documentId }) => documentId),
      versionIds: usable.map(({ versionId }) => versionId),
      vectors,
    }
  }
}
