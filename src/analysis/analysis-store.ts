import type { AnalysisType } from '../access/analysis-types.ts'
import type { KeptClaim } from '../access/claim.ts'
import type { EntitlementInput } from '../access/entitlement.ts'
import type { Policy } from '../access/policy.ts'
import type { Scope } from '../access/scope.ts'
import type { InputDocument, KeptParameters } from './algorithm.ts'
import type { InputScope } from './input-scope.ts'
import type { RunStatus } from './run-states.ts'

/** The port: runs with their artifacts, and the chunks and vectors that runs work on. */
export interface AnalysisStore {
  /** Adds a queued run, unless the application already has that many unfinished ones; null means no limit. */
  addRun(run: NewRun, concurrentMax: number | null, claim?: KeptClaim | null): Promise<boolean>
  /** Null if there is none, or it belongs to another application. */
  run(applicationId: string, runId: string): Promise<Run | null>
  /** Returns runs, newest first, without those that expired before `goneBefore`. */
  runs(query: RunsQuery): Promise<readonly Run[]>
  /** Returns the runs of all applications, newest first. */
  runQueue(query: RunQueueQuery): Promise<readonly QueuedRun[]>
  /** Cancels the run if its state allows that. Returns the run in its new state. */
  cancelRun(applicationId: string, runId: string, now: number): Promise<Run | null>
  /** Counts the unfinished runs of all applications, up to `countedMax` for each state. */
  unfinishedRuns(countedMax: number): Promise<Readonly<Partial<Record<RunStatus, number>>>>
  /** Returns the artifacts in the order in which the run wrote them. */
  artifacts(runId: string): Promise<readonly Artifact[]>

  /**
   * Leases a run to this worker: a queued one, or one whose lease has expired. Serves applications round robin, and the
   * oldest run of each first.
   */
  takeRun(worker: Lease): Promise<TakenRun | null>
  /** Renews the lease and stores the progress. Returns false if this worker no longer holds the run. */
  renew(runId: string, worker: Lease, progress: number): Promise<boolean>
  /** Stores the input after validation. Returns false if this worker no longer holds the run. */
  beginRun(runId: string, workerId: string, input: RunInput, warnings: readonly RunWarning[]): Promise<boolean>
  /**
   * Ends a run in one transaction with its artifacts and, for a subscription, the checkpoint that its success advances.
   * Returns false if this worker no longer holds the run.
   */
  endRun(runId: string, workerId: string, end: RunEnd): Promise<boolean>
  /**
   * Releases an unfinished run, so that any worker can take it at once. If not `counted`, the attempt does not count.
   */
  releaseRun(runId: string, workerId: string, counted: boolean): Promise<void>
  /** Marks up to `most` runs as expired and removes their artifacts, which it returns. */
  expireRuns(now: number, most: number): Promise<{ readonly expired: number; readonly artifactIds: readonly string[] }>
  /** Removes up to `most` runs that expired before the time. Returns the number. */
  removeRuns(goneBefore: number, most: number): Promise<number>
  /** Returns those of these artifacts that exist. */
  knownArtifacts(artifactIds: readonly string[]): Promise<readonly string[]>

  /** Returns the current rights of the application; null if it was deleted. */
  application(applicationId: string): Promise<ApplicationAccess | null>
  profile(profileId: string): Promise<Profile | null>
  /** Returns the ids of active profiles, in order. */
  activeProfileIds(): Promise<readonly string[]>
  /** Returns one page of the input: some documents of one dataset, or their chunks, in the order of document ids. */
  inputRows(query: InputQuery): Promise<InputPage>
  /** Returns the existing vectors of chunks. */
  chunkVectors(profileId: string, chunkIds: readonly string[]): Promise<readonly ChunkVector[]>
  /** Returns the existing texts of chunks. */
  inputTexts(chunkIds: readonly string[]): Promise<readonly ChunkText[]>
  /** Returns the documents of versions with all fields, and with score and metrics at the cut-off. */
  inputDocuments(versionIds: readonly string[], cutoffAt: number): Promise<readonly VersionDocument[]>
}

export const runErrorCodes = [
  'input_too_large',
  'analysis_type_not_executed',
  'entitlement_changed',
  'internal',
] as const

export interface RunError {
  readonly code: (typeof runErrorCodes)[number]
  readonly message: string
}

export const runWarnings = ['vectors_pending', 'history_lost'] as const
export type RunWarning = (typeof runWarnings)[number]

/** The input of a run. */
export interface RunInput {
  /**
   * 0 if the run works on documents: the number of their chunks would show the length of bodies, which may not be
   * readable.
   */
  readonly chunks: number
  /** The documents of the chunks, or the documents themselves. */
  readonly documents: number
  /** Chunks in scope that have no vector of the profile. */
  readonly withoutVector: number
}

export interface NewRun {
  readonly runId: string
  readonly applicationId: string
  readonly analysisType: AnalysisType
  readonly embeddingProfileId: string | null
  readonly inputScope: InputScope
  /** The type's own parameters; null if it is not executed. */
  readonly parameters: KeptParameters | null
  readonly inputCutoffAt: number
  readonly retentionDays: number
  /** The scope that the application could read when it created the run. */
  readonly scope: Scope
  readonly createdAt: number
  readonly expiresAt: number
}

export interface Run extends NewRun {
  readonly status: RunStatus
  /** From 0 to 1. */
  readonly progress: number
  readonly startedAt: number | null
  readonly completedAt: number | null
  readonly error: RunError | null
  /** Null until it is selected. */
  readonly input: RunInput | null
  readonly warnings: readonly RunWarning[]
  /** Null for a run that was created by a request. */
  readonly subscription: SubscriptionTurn | null
}

/** The position of a run in its subscription. */
export interface SubscriptionTurn {
  readonly subscriptionId: string
  /** The number of the run in its subscription, from 1. */
  readonly turn: number
  /** Every event of the change feed up to this sequence came before the cut-off of the run. */
  readonly feedSequence: number
}

export interface TakenRun extends Run {
  /** How many workers have taken it, including this one. */
  readonly attempts: number
}

/** A run in the queue of all applications. */
export interface QueuedRun extends Run {
  readonly attempts: number
}

export interface Lease {
  readonly workerId: string
  readonly now: number
  readonly until: number
}

export type RunEnd =
  /** There is at least one artifact. */
  { readonly at: number; readonly artifacts: readonly Artifact[] } | { readonly at: number; readonly error: RunError }

export interface Artifact {
  readonly artifactId: string
  /** Its name within the run's result: `edges`. */
  readonly name: string
  readonly rows: number
  readonly bytes: number
  /** SHA-256, in hex. */
  readonly sha256: string
}

export interface RunsQuery {
  readonly applicationId: string
  readonly status: RunStatus | null
  readonly before: string | null
  readonly limit: number
  readonly now: number
  readonly goneBefore: number
}

export interface RunQueueQuery {
  /** Only runs that wait or are in progress. */
  readonly unfinished: boolean
  readonly before: string | null
  readonly limit: number
  readonly now: number
}

export interface ApplicationAccess {
  readonly policy: Policy
  readonly entitlements: readonly EntitlementInput[]
}

export interface Profile {
  readonly profileId: string
  readonly active: boolean
  readonly dimensions: number | null
}

/**
 * Selects chunks with a vector of the profile, from the version that each document had at the cut-off, for documents
 * that all of the scopes open and that meet the conditions. Without a profile, selects these versions themselves.
 */
export interface InputQuery {
  readonly profileId: string | null
  readonly scopes: readonly Scope[]
  readonly inputScope: InputScope
  readonly cutoffAt: number
  readonly datasetId: string
  readonly afterDocument: string | null
  /** Documents of the dataset scanned by one call, matching or not. */
  readonly documents: number
  /** The maximum number of returned rows, at which the caller stops. */
  readonly rowsMax: number
}

export interface InputPage {
  readonly rows: readonly InputRow[]
  /** Chunks with a text that are left out because they have no vector; 0 without a profile. */
  readonly withoutVector: number
  /** Whether one of them waits for its vector, or a document is so new that it has no chunks yet. */
  readonly isWaiting: boolean
  /** The start of the next page; null at the end. */
  readonly nextAfter: string | null
}

export interface InputRow {
  /** Null if the row is a document. */
  readonly chunkId: string | null
  readonly documentId: string
  readonly versionId: string
}

export interface ChunkText {
  readonly chunkId: string
  readonly text: string
}

export interface VersionDocument {
  readonly versionId: string
  readonly document: InputDocument
}

export interface ChunkVector {
  readonly chunkId: string
  readonly vector: Float32Array
}
