import type { Scope } from '../access/scope.ts'
import type { FeedPosition } from '../changes/change-log.ts'
import { Callers } from '../fair-queue/callers.ts'
import type { FairSlots } from '../fair-queue/fair-slots.ts'
import type { ExportedVersions, ExportPortion, ExportPosition, ExportSource } from './export-source.ts'

/** The number of documents between two checkpoints. */
export const checkpointDocuments = 1000

/** The progress of an export, with everything needed to continue it. An export cursor holds this. */
export interface ExportProgress {
  readonly position: ExportPosition | null
  /** Document lines since the first request of this export. */
  readonly documents: number
  /** The end of the feed at the first request. */
  readonly changesFrom: FeedPosition
  /** A digest of the application's entitlements at the first request. */
  readonly entitlements: string
}

export interface ExportRun {
  readonly from: ExportProgress
  readonly versions: ExportedVersions
  /** The maximum number of document lines in this response; null for all. */
  readonly limit: number | null
  readonly applicationId: string
  /**
   * Returns the scope that the caller may read now. Rejects if the caller has lost access or its entitlements have
   * changed.
   */
  readonly scope: () => Promise<Scope>
  readonly gone: AbortSignal
}

/** Some lines, and the progress after them. `isCheckpoint`: a cursor line follows. */
export interface ExportStep {
  readonly lines: string
  readonly progress: ExportProgress
  readonly isCheckpoint: boolean
  readonly atEnd: boolean
}

/**
 * Reads an export in batches. Each batch is a separate read, so that no read holds a snapshot of the store for long.
 * The next batch is read while the previous one is sent. All exports share `slots`, which are fair between
 * applications, so that other reads wait for at most one batch.
 *
 * If the caller's scope changes after a batch was read and before it is sent, the batch is read again.
 */
export async function* readExport(run: ExportRun, source: ExportSource, slots: FairSlots): AsyncGenerator<ExportStep> {
  const until = run.limit === null ? Number.POSITIVE_INFINITY : run.from.documents + run.limit
  let { from: progress } = run
  const read = async (from: ExportProgress): Promise<ReadPortion> => {
    const scope = await run.scope()
    const checkpointAt = (Math.floor(from.documents / checkpointDocuments) + 1) * checkpointDocuments
    const end = await slots.take(new Callers(run.applicationId), run.gone)
    if (end === null) throw run.gone.reason
    try {
      const documentsMax = Math.min(until, checkpointAt) - from.documents
      return {
        scope,
        portion: await source.portion({ scope, after: from.position, versions: run.versions, documentsMax }),
      }
    } finally {
      end()
    }
  }
  let next = read(progress)
  for (;;) {
    let { scope, portion } = await next
    if ((await run.scope()) !== scope) ({ scope, portion } = await read(progress))
    const documents = progress.documents + portion.documents
    progress = { ...progress, position: portion.position, documents }
    const isFull = documents >= until
    const isLast = portion.atEnd || isFull
    if (!isLast) {
      next = read(progress)
      // The next step reports the error. This handler only prevents an unhandled rejection if there is no next step.
      next.catch(() => {})
    }
    const isCheckpoint = !portion.atEnd && (isFull || (portion.documents > 0 && documents % checkpointDocuments === 0))
    yield { lines: portion.lines, progress, isCheckpoint, atEnd: portion.atEnd }
    if (isLast) return
  }
}

interface ReadPortion {
  readonly scope: Scope
  readonly portion: ExportPortion
}
