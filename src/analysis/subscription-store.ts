import type { AnalysisType } from '../access/analysis-types.ts'
import type { KeptClaim } from '../access/claim.ts'
import type { Scope } from '../access/scope.ts'
import type { AnalysisStore, NewRun, Run } from './analysis-store.ts'
import type { InputScope } from './input-scope.ts'

/** The port of analysis, with subscriptions and the runs that they start. */
export interface SubscriptionStore extends AnalysisStore {
  addSubscription(subscription: Subscription, claim?: KeptClaim | null): Promise<void>
  subscription(applicationId: string, subscriptionId: string): Promise<Subscription | null>
  /** Newest first. */
  subscriptions(query: {
    readonly applicationId: string
    readonly before: string | null
    readonly limit: number
  }): Promise<readonly Subscription[]>
  /** Pauses or resumes. Changes nothing if the subscription is already in that state. */
  setPaused(applicationId: string, subscriptionId: string, paused: boolean, now: number): Promise<Subscription | null>

  /**
   * Adds the next run of a subscription to the queue, in the transaction that decides whether it may start. Returns
   * null if the subscription is paused, deleted or has a run in progress, if another process has started one since
   * `afterTurn`, or if the application has `concurrentMax` unfinished runs.
   */
  startRun(start: RunStart): Promise<Run | null>
  /**
   * Returns some of the subscriptions that may start a run, in id order: those that are not paused, have no run in
   * progress, and belong to an application with a valid key and a policy that allows it.
   */
  waitingSubscriptions(query: WaitingQuery): Promise<WaitingPage>
  /** Scans a limited number of events after a position for changes of the scope. */
  changesWithin(query: ChangesQuery): Promise<{ readonly through: number; readonly changes: ScopeChanges | null }>
  /** Stores the position up to which the feed has no change of the scope, unless a run has been started since. */
  keepFollowed(subscriptionId: string, turn: number, through: number): Promise<void>
  /**
   * Returns the ended runs of a subscription after a turn, in order, without those that expired before `goneBefore`.
   */
  endedRuns(query: {
    readonly subscriptionId: string
    readonly afterTurn: number
    readonly limit: number
    readonly now: number
    readonly goneBefore: number
  }): Promise<readonly Run[]>
  /** Returns false if the store was rolled back since the run was seen. A removed run counts as known. */
  knowsRun(subscriptionId: string, seen: SeenRun): Promise<boolean>
}

/** A run of a subscription that a reader has seen: its number, and its id if known. */
export interface SeenRun {
  readonly turn: number
  readonly runId: string | null
}

export interface RunStart {
  readonly subscriptionId: string
  readonly afterTurn: number
  readonly run: NewRun
  /** Null means no limit. */
  readonly concurrentMax: number | null
}

export interface WaitingQuery {
  readonly after: string | null
  /** Subscriptions scanned, whether or not they wait. */
  readonly limit: number
  readonly now: number
}

export interface WaitingPage {
  readonly waiting: readonly WaitingSubscription[]
  /** The newest sequence of the feed. */
  readonly newest: number
  /** The start of the next page; null at the end. */
  readonly nextAfter: string | null
}

export interface WaitingSubscription {
  readonly subscription: Subscription
  /** The number of the latest run; 0 before the first. */
  readonly turn: number
  /** Runs started since the last complete success. */
  readonly tries: number
  /** No event up to here requires a run. */
  readonly followedThrough: number
  readonly last: {
    readonly startedAt: number
    readonly endedAt: number
    /** It succeeded, and all vectors of its scope existed. */
    readonly isComplete: boolean
  } | null
}

export interface ChangesQuery {
  readonly after: number
  /** Events to scan, whether or not they belong to the scope. */
  readonly events: number
  readonly scope: Scope
  readonly inputScope: InputScope
  /** Whether a change of metrics alone counts. */
  readonly withMetrics: boolean
  readonly now: number
}

/** The times of the first and the last of some changes. */
export interface ScopeChanges {
  readonly firstAt: number
  readonly lastAt: number
}

export const executionModes = ['on_change', 'scheduled', 'hybrid'] as const

export interface Subscription {
  readonly subscriptionId: string
  readonly applicationId: string
  readonly name: string
  readonly analysisType: AnalysisType
  readonly inputScope: InputScope
  readonly executionMode: (typeof executionModes)[number]
  readonly embeddingProfileId: string | null
  /** Unchanged from the request; null if there were none. */
  readonly parameters: Readonly<Record<string, unknown>> | null
  readonly intervalSeconds: number | null
  readonly artifactRetentionDays: number | null
  readonly paused: boolean
  readonly createdAt: number
  readonly updatedAt: number
  /** The position of its last success; null before the first. */
  readonly checkpoint: Checkpoint | null
}

export interface Checkpoint {
  readonly sequence: number
  readonly runId: string
  readonly completedAt: number
}
