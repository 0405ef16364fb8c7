import type { AnalysisType } from '../access/analysis-types.ts'
import type { KeptClaim } from '../access/claim.ts'
import type { Scope } from '../access/scope.ts'
import type { AnalysisStore, NewRun, Run } from './analysis-store.ts'
import type { InputScope } from './input-scope.ts'

/** The port of analysis with its subscriptions, and the runs that these start. */
export interface SubscriptionStore extends AnalysisStore {
  addSubscription(subscription: Subscription, claim?: KeptClaim | null): Promise<void>
  subscription(applicationId: string, subscriptionId: string): Promise<Subscription | null>
  /** Newest first. */
  subscriptions(query: {
    readonly applicationId: string
    readonly before: string | null
    readonly limit: number
  }): Promise<readonly Subscription[]>
  /** Sets whether it is paused; changes nothing where it already is so. */
  setPaused(applicationId: string, subscriptionId: string, paused: boolean, now: number): Promise<Subscription | null>

  /**
   * Starts the next run of a subscription, queued, in one step with the decision: unless it is paused, gone or has a run
   * under way, unless another process has started one since `afterTurn`, and unless the application has `concurrentMax`
   * unfinished runs. Null where it did not.
   */
  startRun(start: RunStart): Promise<Run | null>
  /**
   * Some of the subscriptions that may start a run, in the order of their ids: those that are not paused, have none under
   * way, and belong to an application with a key that works and a policy that lets them.
   */
  waitingSubscriptions(query: WaitingQuery): Promise<WaitingPage>
  /** What the feed tells of the scope after a position, as far as some events go. */
  changesWithin(query: ChangesQuery): Promise<{ readonly through: number; readonly changes: ScopeChanges | null }>
  /** Keeps how far the feed was followed without finding a change, unless a run has been started since. */
  keepFollowed(subscriptionId: string, turn: number, through: number): Promise<void>
  /** Runs of a subscription that have ended, after a turn and in their order; those that expired long ago are gone. */
  endedRuns(query: {
    readonly subscriptionId: string
    readonly afterTurn: number
    readonly limit: number
    readonly now: number
    readonly goneBefore: number
  }): Promise<readonly Run[]>
}

export interface RunStart {
  readonly subscriptionId: string
  readonly afterTurn: number
  readonly run: NewRun
  /** Null = no limit. */
  readonly concurrentMax: number | null
}

export interface WaitingQuery {
  readonly after: string | null
  /** Subscriptions looked at, whether they wait or not. */
  readonly limit: number
  readonly now: number
}

export interface WaitingPage {
  readonly waiting: readonly WaitingSubscription[]
  /** Of the feed. */
  readonly newest: number
  /** Where the next page begins; null at the end. */
  readonly nextAfter: string | null
}

export interface WaitingSubscription {
  readonly subscription: Subscription
  /** Of the latest run; 0 before the first. */
  readonly turn: number
  /** Runs started since the last success that lacked nothing. */
  readonly tries: number
  /** No event up to here calls for a run. */
  readonly followedThrough: number
  readonly last: {
    readonly startedAt: number
    readonly endedAt: number
    /** It succeeded, and no vector of its scope was still to be made. */
    readonly isComplete: boolean
  } | null
}

export interface ChangesQuery {
  readonly after: number
  /** Looked at, whether they belong to the scope or not. */
  readonly events: number
  readonly scope: Scope
  readonly inputScope: InputScope
  /** Whether a change of metrics alone is one. */
  readonly withMetrics: boolean
  readonly now: number
}

/** When the first and the last of some changes came. */
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
  /** As they were sent; null where none were. */
  readonly parameters: Readonly<Record<string, unknown>> | null
  readonly intervalSeconds: number | null
  readonly artifactRetentionDays: number | null
  readonly paused: boolean
  readonly createdAt: number
  readonly updatedAt: number
  /** What its last success came to; null before the first. */
  readonly checkpoint: Checkpoint | null
}

export interface Checkpoint {
  readonly sequence: number
  readonly runId: string
  readonly completedAt: number
}
