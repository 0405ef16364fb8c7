import type { AnalysisType } from '../access/analysis-types.ts'
import type { KeptClaim } from '../access/claim.ts'
import type { EntitlementInput } from '../access/entitlement.ts'
import type { Policy } from '../access/policy.ts'
import type { Scope } from '../access/scope.ts'
import type { InputDocument, KeptParameters } from './algorithm.ts'
import type { InputScope } from './input-scope.ts'
import type { RunStatus } from './run-states.ts'

/** The port: runs with their artifacts, and the chunks and vectors that runs compute on. */
export interface AnalysisStore {
  /** Adds a queued run, unless the application has that many unfinished ones already; null = no limit. */
  addRun(run: NewRun, concurrentMax: number | null, claim?: KeptClaim | null): Promise<boolean>
  /** Null where there is none, or it is another application's. */
  run(applicationId: string, runId: string): Promise<Run | null>
  /** Newest first. Runs that expired before `goneBefore` are left out. */
  runs(query: RunsQuery): Promise<readonly Run[]>
  /** Of all applications, newest first. */
  runQueue(query: RunQueueQuery): Promise<readonly QueuedRun[]>
  /** Cancels where the states allow it; gives the run as it is then. */
  cancelRun(applicationId: string, runId: string, now: number): Promise<Run | null>
  /** Runs that are not over, of all applications; of each state counted no further than `countedMax`. */
  unfinishedRuns(countedMax: number): Promise<Readonly<Partial<Record<RunStatus, number>>>>
  /** In the order in which the run gave them. */
  artifacts(runId: string): Promise<readonly Artifact[]>

  /**
   * A run whose worker's lease has run out, or one that waits, now held by this worker: applications take turns, and of each
   * the oldest comes first.
   */
  takeRun(worker: Lease): Promise<TakenRun | null>
  /** Renews the lease and keeps the progress; false when the run is no longer this worker's. */
  renew(runId: string, worker: Lease, progress: number): Promise<boolean>
  /** Validating is over, and the input known. False when the run is no longer this worker's. */
  beginRun(runId: string, workerId: string, input: RunInput, warnings: readonly RunWarning[]): Promise<boolean>
  /**
   * The end of a run, with its artifacts where it has any and, of a subscription, with the checkpoint that its success
   * moves: in one. False when the run is no longer this worker's.
   */
  endRun(runId: string, workerId: string, end: RunEnd): Promise<boolean>
  /** Gives a run up unfinished: any worker can take it at once. Uncounted, it is as if this one never had. */
  releaseRun(runId: string, workerId: string, counted: boolean): Promise<void>
  /** Moves up to `most` runs whose time is over to expired and forgets their artifacts, which are returned. */
  expireRuns(now: number, most: number): Promise<{ readonly expired: number; readonly artifactIds: readonly string[] }>
  /** Removes up to `most` runs that expired before the time. Returns how many. */
  removeRuns(goneBefore: number, most: number): Promise<number>
  /** Which of these artifacts there are. */
  knownArtifacts(artifactIds: readonly string[]): Promise<readonly string[]>

  /** The application as it is now; null when it is gone. */
  application(applicationId: string): Promise<ApplicationAccess | null>
  profile(profileId: string): Promise<Profile | null>
  /** The ids of those that are active, in their order. */
  activeProfileIds(): Promise<readonly string[]>
  /** One page of the input: some documents of one dataset, or their chunks, in the order of document ids. */
  inputRows(query: InputQuery): Promise<InputPage>
  /** Vectors of chunks, as far as there are any. */
  chunkVectors(profileId: string, chunkIds: readonly string[]): Promise<readonly ChunkVector[]>
  /** Texts of chunks, as far as there are any. */
  inputTexts(chunkIds: readonly string[]): Promise<readonly ChunkText[]>
  /** The documents of versions, uncut, with score and metrics as of the cut-off. */
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

/** What a run is computed on. */
export interface RunInput {
  /** 0 where it is computed on documents: how many they have would tell how long bodies are, which may not be readable. */
  readonly chunks: number
  /** Those that the chunks are of, or the documents themselves. */
  readonly documents: number
  /** Chunks that belong to the input but for a vector of the profile, which they have not. */
  readonly withoutVector: number
}

export interface NewRun {
  readonly runId: string
  readonly applicationId: string
  readonly analysisType: AnalysisType
  readonly embeddingProfileId: string | null
  readonly inputScope: InputScope
  /** The type's own; null where it is not executed. */
  readonly parameters: KeptParameters | null
  readonly inputCutoffAt: number
  readonly retentionDays: number
  /** What the application could read when it created the run. */
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
  /** Null of a run that was asked for by itself. */
  readonly subscription: SubscriptionTurn | null
}

/** Which run of its subscription a run is. */
export interface SubscriptionTurn {
  readonly subscriptionId: string
  /** 1 for the first, and one more for each: they are under way one after the other. */
  readonly turn: number
  /** Every event of the change feed up to here came before the cut-off of the run. */
  readonly feedSequence: number
}

export interface TakenRun extends Run {
  /** How many workers have taken it, this one included. */
  readonly attempts: number
}

/** A run as it stands among those of all applications. */
export interface QueuedRun extends Run {
  readonly attempts: number
}

export interface Lease {
  readonly workerId: string
  readonly now: number
  readonly until: number
}

export type RunEnd =
  /** At least one artifact. */
  { readonly at: number; readonly artifacts: readonly Artifact[] } | { readonly at: number; readonly error: RunError }

export interface Artifact {
  readonly artifactId: string
  /** What it is of the run's result: `edges`. */
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
  /** Those alone that wait or are under way. */
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
 * Chunks with a vector of the profile, of the version that each document had at the cut-off, of documents that every
 * one of the scopes opens and that meet the conditions. Without a profile, these versions themselves.
 */
export interface InputQuery {
  readonly profileId: string | null
  readonly scopes: readonly Scope[]
  readonly inputScope: InputScope
  readonly cutoffAt: number
  readonly datasetId: string
  readonly afterDocument: string | null
  /** Documents of the dataset looked at by one call, whether they match or not. */
  readonly documents: number
  /** More rows than this are not given: the caller stops there. */
  readonly rowsMax: number
}

export interface InputPage {
  readonly rows: readonly InputRow[]
  /** Chunks with a text that are left out for want of a vector; 0 without a profile. */
  readonly withoutVector: number
  /** Whether any of them waits for its vector, or a document is so new that it has no chunks yet. */
  readonly isWaiting: boolean
  /** Where the next page begins; null at the end. */
  readonly nextAfter: string | null
}

export interface InputRow {
  /** Null where the row is a document. */
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
