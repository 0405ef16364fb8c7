import type { Claim } from '../access/claim.ts'
import type { DocumentStatus, IncomingDocument, IngestResult } from '../ingest/content-store.ts'
import type { ResourceKind } from './limits.ts'
import type { RunState } from './states.ts'

/** The port: live queries and the tasks made from them. Every call is all or nothing, also between processes. */
export interface LiveStore {
  /** Starts a live query, or says why not; a key that is known gives the live query it started. */
  create(request: NewLiveQuery, nowMs: number): Promise<Creation>
  /** Takes a live query back as if it had never been: its runs are cancelled, its key is free again. */
  cancel(liveQueryId: string, nowMs: number): Promise<void>
  /** As it was last written down; null where the application has no such live query. */
  find(applicationId: string, liveQueryId: string): Promise<LiveQuery | null>
  /** The tasks of all live queries, newest first. */
  tasks(query: TasksQuery, nowMs: number): Promise<readonly ListedTask[]>
  /** What the runs brought, after a place, first items of all platforms first. */
  items(liveQueryId: string, after: ItemPlace | null, limit: number): Promise<readonly LiveItem[]>
  /** The texts of some versions, in no particular order. Asked only for those that may be read. */
  bodies(
    versionIds: readonly string[],
  ): Promise<readonly { readonly versionId: string; readonly body: string | null }[]>

  /** Hands out tasks that nobody works on, oldest first, and notes that the collector asked. */
  lease(request: LeaseRequest, nowMs: number): Promise<readonly LeasedTask[]>
  /** The task as its holder may use it now. */
  task(claim: LeaseClaim, nowMs: number): Promise<IfHeld<HeldTask>>
  heartbeat(claim: LeaseClaim, leaseMs: number, nowMs: number): Promise<IfHeld<HeldTask>>
  /** Writes the documents as ordinary ones and notes them as items of the task, in one transaction. */
  deliver(
    claim: LeaseClaim,
    documents: readonly IncomingDocument[],
    nowMs: number,
  ): Promise<IfHeld<readonly IngestResult[]>>
  /** The same completion again is no error. */
  complete(claim: LeaseClaim, end: TaskEnd, nowMs: number): Promise<IfHeld<{ readonly items: number }>>

  /** Tasks that are not over, as they were last written down; of each state counted no further than `countedMax`. */
  openTasks(countedMax: number): Promise<Readonly<Record<'pending' | 'running', number>>>
  /** From when on `settle` has something to do; null where nothing is open. Asked often, and without the lock of a writer. */
  dueAt(): Promise<number | null>
  /** Writes down what time did: deadlines and leases that ran out. Returns how many runs changed, `most` at most. */
  settle(nowMs: number, most: number): Promise<number>
  /** Removes idempotency keys, whatever they made, and live queries made before those times. Returns how many, `most` of each at most. */
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
  /** null = no limit. */
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
  /** Those alone that wait for a collector or are being worked on. */
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
  /** As of the moment of the question. */
  readonly status: RunState
  readonly items: number
  readonly maxItems: number
  /** Who works on it, or did last. */
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

/** Position of an item within its run, then the run. */
export type ItemPlace = readonly [position: number, runOrdinal: number]

export interface LiveItem {
  readonly place: ItemPlace
  readonly documentId: string
  readonly datasetId: string
  readonly platform: string
  readonly language: string | null
  readonly region: string | null
  readonly publishedAt: number | null
  readonly contentType: string | null
  readonly status: DocumentStatus
  /** The current version. */
  readonly versionId: string
  readonly title: string | null
  readonly externalId: string
  readonly url: string | null
  readonly author: { readonly externalAuthorId: string | null; readonly nickname: string | null } | null
  readonly topics: readonly string[]
  readonly tags: readonly string[]
}

export interface LeaseRequest {
  readonly collectorId: string
  /** null: every dataset. */
  readonly datasets: readonly string[] | null
  readonly platforms: readonly string[]
  /** null: every kind. */
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

/** Who says to work on a task. Without the id of the lease, the collector's own newest lease is meant. */
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
