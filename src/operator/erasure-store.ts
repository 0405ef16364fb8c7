import type { KeptClaim } from '../access/claim.ts'
import type { AuditMark } from './operator-store.ts'

/**
 * The port: documents that are taken away for good. A job goes through these states, each step in portions that can be
 * done again, by any process, after a crash at any moment:
 *
 *   hide      the documents themselves go, with an event each: from here on no reader finds them
 *   tell      what came into a dataset that nobody could read meanwhile gets another event, now that it can be read
 *   remove    their versions, facts, snapshots, chunks, vectors and what live queries know of them go
 *   forget    past events of the feed say their ids and when they were made, and nothing else any more
 *   purge     every copy of the search index is rid of them (`IndexSource.reportPurged`)
 *   complete  the bytes are gone, as far as the store can say
 *
 * What is known afterwards of an erased document is its id, and a keyed hash of its identity, by which it is refused when it
 * is sent in again.
 */
export interface ErasureStore {
  /** How many documents a selection has now. */
  count(selection: Selection): Promise<number>
  /** Writes the job, and that there is one into the audit log. Documents that are named by id are hidden with it. */
  begin(request: ErasureRequest, mark: AuditMark, claim?: KeptClaim | null): Promise<Erasure>
  /** Hides up to `most` documents of a job. Returns whether there are more. */
  hide(erasureId: string, most: number, nowMs: number): Promise<boolean>
  /**
   * Writes a `document.created` for up to `most` documents that came into the dataset while it was hidden: who heard of one
   * then did not find it, and an export that began then does not have it. `later` while some readers may still not see them.
   */
  tellArrivals(erasureId: string, most: number, nowMs: number): Promise<'more' | 'later' | 'done'>
  /** Removes what is left of up to `most` hidden documents. Returns whether there are more. */
  remove(erasureId: string, most: number): Promise<boolean>
  /**
   * Looks at up to `most` events after a position, and leaves of those of the job's documents their ids alone. Returns the
   * position that it came to; null at the end of the feed.
   */
  forgetEvents(erasureId: string, after: number, most: number): Promise<number | null>
  /** Whether no search index that is in use holds any of it. */
  isPurged(erasureId: string, nowMs: number): Promise<boolean>
  /** Writes that the job is done, and how many documents it took away into the audit log. */
  complete(erasureId: string, nowMs: number): Promise<void>
  /** What is to be erased by now because its dataset keeps nothing for so long, and is not being erased yet. */
  overdue(nowMs: number): Promise<readonly DatasetPart[]>
  /** Jobs that are not done, the oldest first. */
  unfinished(): Promise<readonly Erasure[]>
  erasure(erasureId: string): Promise<Erasure | null>
  /** Newest first; `before` is the id of the last one already seen. */
  erasures(page: { readonly before: string | null; readonly limit: number }): Promise<readonly Erasure[]>
  /** The document may come in again. Returns whether it was refused until now. */
  lift(identity: Identity, mark: AuditMark): Promise<boolean>
  /** How many documents of a job may not come in again. */
  tombstones(erasureId: string): Promise<number>
  /**
   * Up to `most` documents of a job that has removed all of its own may come in again, in the order of their ids after one.
   * Returns the id that it came to; null when there are no more. The first portion is written into the audit log, with the
   * number of all.
   */
  liftAll(erasureId: string, after: string | null, most: number, mark: AuditMark): Promise<string | null>
}

export interface ErasureRequest {
  readonly erasureId: string
  readonly selection: Selection
  readonly keepTombstones: boolean
  readonly purgeArtifacts: boolean
  /** Where none of the documents is there it is `not_found`, and no job. */
  readonly mustExist: boolean
  /** The dataset goes with its documents; from now on it takes no others. */
  readonly deletesDataset?: boolean
}

export type Selection =
  | { readonly documentIds: readonly string[] }
  /** All that the author has there. */
  | { readonly author: AuthorPart }
  /** All that is there. Until the last one is hidden nobody reads any of the dataset. */
  | { readonly dataset: DatasetPart }
  /** Those that have been kept for as long as the dataset says. */
  | { readonly expired: DatasetPart }

export interface DatasetPart {
  readonly datasetId: string
  /** Documents whose ids sort before: what came in later stays. */
  readonly below: string
}

export interface AuthorPart {
  readonly datasetId: string
  readonly platform: string
  readonly externalAuthorId: string
  /** As of a dataset; absent where an earlier version began the job. */
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
  /** Hidden so far. */
  readonly documents: number
  /** Of those, how many nothing is left of in the store. */
  readonly removed: number
  /** All of them are. */
  readonly isHidden: boolean
  readonly purgeArtifacts: boolean
  /** Runs of analysis whose input may have had one of the documents. */
  readonly artifactRunIds: readonly string[]
  readonly createdAt: number
  readonly completedAt: number | null
}
