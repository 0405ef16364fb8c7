import type { Claim } from '../access/claim.ts'
import type { ColumnValues, DetailValues } from '../document/field-types.ts'
import type { IncomingDocument, IngestResult } from '../ingest/content-store.ts'
import type { ResourceKind } from './limits.ts'
import type { RunState } from './states.ts'

/** The port: live queries and their tasks. Every call is atomic, also between processes. */
export interface LiveStore {
  /** Starts a live query, or says why not. A known key returns the live query that it started. */
  create(request: NewLiveQuery, nowMs: number): Promise<Creation>
  /** Removes a live query as if it had never existed: its runs are cancelled, and its key is free again. */
  cancel(liveQueryId: string, nowMs: number): Promise<void>
  /** Returns the stored state; null if the application has no such live query. */
  find(applicationId: string, liveQueryId: string): Promise<LiveQuery | null>
  /** Returns the tasks of all live queries, newest first. */
  tasks(query: TasksQuery, nowMs: number): Promise<readonly ListedTask[]>
  /** Returns the items of the runs after a position. The first items of all platforms come first. */
  items(liveQueryId: string, after: ItemPosition | null, limit: number): Promise<readonly LiveItem[]>
  /** Returns the texts of some versions, in no particular order. Only call it for versions that may be read. */
  bodies(
    versionIds: readonly string[],
  ): Promise<readonly { readonly versionId: string; readonly body: string | null }[]>

  /** Leases waiting tasks, oldest first, and records that the collector has asked for tasks. */
  lease(request: LeaseRequest, nowMs: number): Promise<readonly LeasedTask[]>
  /** Returns the task, if this collector still holds it. */
  task(claim: LeaseClaim, nowMs: number): Promise<IfHeld<HeldTask>>
  heartbeat(claim: LeaseClaim, leaseMs: number, nowMs: number): Promise<IfHeld<HeldTask>>
  /** Stores the documents like any others and records them as items of the task, in one transaction. */
  deliver(
    claim: LeaseClaim,
    documents: readonly IncomingDocument[],
    nowMs: number,
  ): Promise<IfHeld<readonly IngestResult[]>>
  /** Ends a task. Repeating the same completion is not an error. */
  complete(claim: LeaseClaim, end: TaskEnd, nowMs: number): Promise<IfHeld<{ readonly items: number }>>

  /** Counts the unfinished tasks by their stored state, up to `countedMax` for each. */
  openTasks(countedMax: number): Promise<Readonly<Record<'pending' | 'running', number>>>
  /** Returns when `settle` next has something to do; null if nothing is open. Called often, and takes no write lock. */
  dueAt(): Promise<number | null>
  /** Stores expired deadlines and leases. Returns how many runs changed, at most `most`. */
  settle(nowMs: number, most: number): Promise<number>
  /**
   * Removes idempotency keys of all kinds, and live queries, that were created before those times. Returns how many, at
   * most `most` of each.
   */
  forget(keysBeforeMs: number, queriesBeforeMs: number, most: number): Promise<number>
}

export interface NewLiveQuery {
  readonly applicationId: string
  readonly claim: Claim
  readonly datasetId: string
  readonly platforms: readonly string[]
  readonly resourceKind: ResourceKind
  readonly query: string
  readonly maxItems: number
  readonly deadlineMs: number
  /** null means no limit. */
  readonly concurrentMax: number | null
  readonly perMinuteMax: number | null
}

export type Creation =
  | { readonly kind: 'created' | 'known'; readonly liveQuery: LiveQuery }
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'not_served'; readonly platform: string }
  | { readonly kind: 'too_many' | 'too_fast'; readonly retryAfterSeconds: number }

export interface LiveQuery {
  readonly liveQueryId: string
  readonly datasetId: string
  readonly resourceKind: ResourceKind
  readonly query: string
  readonly createdAt: number
  readonly deadlineAt: number
  readonly completedAt: number | null
  readonly runs: readonly LiveRun[]
}

export interface LiveRun {
  readonly runId: string
  readonly taskId: string
  readonly platform: string
  readonly status: RunState
  readonly items: number
  readonly error: RunError | null
  readonly leaseExpiresAt: number | null
}

export interface TasksQuery {
  /** Only tasks that wait for a collector or are in progress. */
  readonly unfinished: boolean
  /** The last task already seen. */
  readonly before: string | null
  readonly limit: number
}

export interface ListedTask {
  readonly taskId: string
  readonly liveQueryId: string
  readonly applicationId: string
  readonly datasetId: string
  readonly platform: string
  readonly resourceKind: ResourceKind
  readonly query: string
  /** At the time of the call. */
  readonly status: RunState
  readonly items: number
  readonly maxItems: number
  /** The collector that works on it, or the last one that did. */
  readonly collectorId: string | null
  readonly leaseExpiresAt: number | null
  readonly createdAt: number
  readonly deadlineAt: number
  readonly error: RunError | null
}

export interface RunError {
  readonly code: string
  readonly message: string
}

/** The position of an item within its run, then the number of the run. */
export type ItemPosition = readonly [position: number, runOrdinal: number]

export interface LiveItem extends ColumnValues, DetailValues {
  readonly position: ItemPosition
  readonly documentId: string
  /** The current version. */
  readonly versionId: string
  readonly title: string | null
}

export interface LeaseRequest {
  readonly collectorId: string
  /** null means every dataset. */
  readonly datasets: readonly string[] | null
  readonly platforms: readonly string[]
  /** null means every kind. */
  readonly resourceKinds: readonly ResourceKind[] | null
  readonly max: number
  readonly leaseMs: number
}

export interface LeasedTask extends HeldTask {
  readonly resourceKind: ResourceKind
  readonly query: string
  readonly maxItems: number
}

export interface HeldTask {
  readonly taskId: string
  readonly leaseId: string
  readonly datasetId: string
  readonly platform: string
  readonly deadlineAt: number
  readonly leaseExpiresAt: number
}

/** A claim to work on a task. Without a lease id, it means the newest lease of the collector. */
export interface LeaseClaim {
  readonly taskId: string
  readonly collectorId: string
  readonly leaseId: string | null
}

export interface TaskEnd {
  readonly event: 'succeed' | 'fail'
  readonly error: RunError | null
}

export type IfHeld<T> =
  | { readonly held: true; readonly value: T }
  | { readonly held: false; readonly why: 'not_found' | 'closed' | 'lease_lost' }
