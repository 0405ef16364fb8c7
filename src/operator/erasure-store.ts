import type { KeptClaim } from '../access/claim.ts'
import type { AuditMark } from './operator-store.ts'

/**
 * The port: permanent removal of documents. A job goes through these states. Each step works in portions that any
 * process can repeat after a crash:
 *
 *   hide      removes the documents themselves, with an event each: from here on no reader finds them
 *   announce  writes another event for documents that came into a dataset while it was hidden, as they are readable now
 *   remove    removes their versions, facts, snapshots, chunks, vectors and items of live queries
 *   forget    reduces past events in the feed to document id and time
 *   purge     waits until every copy of the search index is rid of them (`IndexSource.reportPurged`)
 *   complete  records that the data is gone, as far as the store can tell
 *
 * Afterwards the store still has the id of an erased document, and a keyed hash of its identity (a tombstone), by which
 * it is refused when it is sent again.
 */
export interface ErasureStore {
  /** The number of documents that a selection has now. */
  count(selection: Selection): Promise<number>
  /** Writes the job and its audit entry. Documents selected by id are hidden in the same transaction. */
  begin(request: ErasureRequest, mark: AuditMark, claim?: KeptClaim | null): Promise<Erasure>
  /** Hides up to `most` documents of a job. Returns whether there are more. */
  hide(erasureId: string, most: number, nowMs: number): Promise<boolean>
  /**
   * Writes a `document.created` for up to `most` documents that came into the dataset while it was hidden, because
   * readers of the first event could not find the document, and an export at that time does not have it. Returns
   * `later` while some readers may still not see them.
   */
  announceArrivals(erasureId: string, most: number, nowMs: number): Promise<'more' | 'later' | 'done'>
  /** Removes the remaining data of up to `most` hidden documents. Returns whether there are more. */
  remove(erasureId: string, most: number): Promise<boolean>
  /**
   * Scans up to `most` events after a position, and reduces those of the job's documents to their ids. Returns the
   * position that it reached; null at the end of the feed.
   */
  forgetEvents(erasureId: string, after: number, most: number): Promise<number | null>
  /** Whether no search index in use holds any of the documents. */
  isPurged(erasureId: string, nowMs: number): Promise<boolean>
  /** Writes the end of the job, and the number of erased documents to the audit log. */
  complete(erasureId: string, nowMs: number): Promise<void>
  /** Documents that are past their dataset's retention and are not being erased yet. */
  overdue(nowMs: number): Promise<readonly DatasetPart[]>
  /** Incomplete jobs, oldest first. */
  unfinished(): Promise<readonly Erasure[]>
  erasure(erasureId: string): Promise<Erasure | null>
  /** Newest first; `before` is the id of the last one already seen. */
  erasures(page: { readonly before: string | null; readonly limit: number }): Promise<readonly Erasure[]>
  /** Lets the document be sent again. Returns whether it was refused until now. */
  lift(identity: Identity, mark: AuditMark): Promise<boolean>
  /** How many documents of a job are refused. */
  tombstones(erasureId: string): Promise<number>
  /**
   * Lets up to `most` documents of a completed erasure be sent again, in the order of ids after `after`. Returns the
   * last id; null if there are no more. The first portion is written to the audit log, with the total.
   */
  liftAll(erasureId: string, after: string | null, most: number, mark: AuditMark): Promise<string | null>
  /** Returns those of the given jobs that have hidden all of their documents. Unknown jobs are left out. */
  hiddenAmong(erasureIds: readonly string[]): Promise<readonly string[]>
  /**
   * A job with everything that is needed to repeat it, and up to `most` of its documents, in the order of ids after
   * `after`.
   */
  removal(erasureId: string, after: string | null, most: number): Promise<Removal>
  /** Hides documents again that a restored store brought back. The others are refused when they are sent again. */
  eraseAgain(removal: Removal, nowMs: number): Promise<void>
  /**
   * Takes over a job after all of its documents were hidden again; the other steps follow as for any job. Written to
   * the audit log. Returns how many of the documents the restore had brought back.
   */
  takeOver(removal: Omit<Removal, 'documents'>, mark: AuditMark): Promise<number>
}

/** A job, with some of its documents, for a store that may not know it. */
export interface Removal {
  readonly erasureId: string
  readonly actor: string
  readonly createdAt: number
  readonly keepTombstones: boolean
  readonly purgeArtifacts: boolean
  readonly artifactRunIds: readonly string[]
  /** The secret of the tombstones; null if nothing was ever erased. */
  readonly tombstoneSecret: string | null
  readonly documents: readonly { readonly documentId: string; readonly tombstone: string | null }[]
}

export interface ErasureRequest {
  readonly erasureId: string
  readonly selection: Selection
  readonly keepTombstones: boolean
  readonly purgeArtifacts: boolean
  /** If none of the documents exists, the result is `not_found` and there is no job. */
  readonly mustExist: boolean
  /** Deletes the dataset with its documents; from now on it accepts no others. */
  readonly deletesDataset?: boolean
}

export type Selection =
  | { readonly documentIds: readonly string[] }
  /** All documents of the author in that dataset. */
  | { readonly author: AuthorPart }
  /** All documents of the dataset. Nobody can read the dataset until the last one is hidden. */
  | { readonly dataset: DatasetPart }
  /** Documents that are past the dataset's retention. */
  | { readonly expired: DatasetPart }

export interface DatasetPart {
  readonly datasetId: string
  /** Selects documents with ids below this, so that later ones stay. */
  readonly below: string
}

export interface AuthorPart {
  readonly datasetId: string
  readonly platform: string
  readonly externalAuthorId: string
  /** As in `DatasetPart`; absent if an earlier version began the job. */
  readonly below?: string
}

export interface Identity {
  readonly datasetId: string
  readonly platform: string
  readonly externalId: string
}

export const erasureStatuses = ['running', 'completed', 'failed'] as const
export type ErasureStatus = (typeof erasureStatuses)[number]

export interface Erasure {
  readonly erasureId: string
  readonly status: ErasureStatus
  /** Documents hidden so far. */
  readonly documents: number
  /** Hidden documents that are completely removed from the store. */
  readonly removed: number
  /** Whether all of them are hidden. */
  readonly isHidden: boolean
  readonly purgeArtifacts: boolean
  /** Analysis runs whose input may have included one of the documents. */
  readonly artifactRunIds: readonly string[]
  readonly createdAt: number
  readonly completedAt: number | null
}
