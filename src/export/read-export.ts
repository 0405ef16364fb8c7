import type { Scope } from '../access/scope.ts'
import { Callers } from '../turns/callers.ts'
import type { FairTurns } from '../turns/fair-turns.ts'
import type { ExportedVersions, ExportPortion, ExportPosition, ExportSource } from './export-source.ts'

/** Between two checkpoints. */
export const checkpointDocuments = 1000

/** Where an export stands, and all that it needs to go on from there; what its cursors hold. */
export interface ExportProgress {
  readonly position: ExportPosition | null
  /** Lines of documents since its first start. */
  readonly documents: number
  /** The feed's newest event at its first start. */
  readonly changesPosition: number
  /** What the application was entitled to then, as a digest. */
  readonly entitlements: string
}

export interface ExportRun {
  readonly from: ExportProgress
  readonly versions: ExportedVersions
  /** Lines of documents of this answer; null for all. */
  readonly limit: number | null
  readonly applicationId: string
  /** What the caller may read at this moment; rejects where that is nothing any more, or of other entitlements. */
  readonly scope: () => Promise<Scope>
  readonly gone: AbortSignal
}

/** Some lines, and how far they go. `isCheckpoint`: a cursor belongs behind them. */
export interface ExportStep {
  readonly lines: Uint8Array
  readonly progress: ExportProgress
  readonly isCheckpoint: boolean
  readonly atEnd: boolean
}

/**
 * An export, portion by portion: each is a read of its own, so that none holds a snapshot of the store for long, and is
 * read while the one before goes out. Of all exports one portion is read at a time, in turn between applications: what
 * else reads waits behind one of them at the most.
 *
 * A portion that was read while the caller could read something else than when it goes out is read again.
 */
export async function* readExport(run: ExportRun, source: ExportSource, turns: FairTurns): AsyncGenerator<ExportStep> {
  const until = run.limit === null ? Number.POSITIVE_INFINITY : run.from.documents + run.limit
  let { from: progress } = run
  const read = async (from: ExportProgress): Promise<ReadPortion> => {
    const scope = await run.scope()
    const checkpointAt = (Math.floor(from.documents / checkpointDocuments) + 1) * checkpointDocuments
    const end = await turns.take(new Callers(run.applicationId), run.gone)
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
      // Whoever waits for it hears of it; when nobody does any more, nobody need.
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
