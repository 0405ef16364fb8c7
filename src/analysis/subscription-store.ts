import type { AnalysisType } from '../access/analysis-types.ts'
import type { AnalysisStore, NewRun, Run } from './analysis-store.ts'
import type { InputScope } from './input-scope.ts'

/** The port of analysis with its subscriptions, and the runs that these start. */
export interface SubscriptionStore extends AnalysisStore {
  addSubscription(subscription: Subscription): Promise<void>
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
}

export interface RunStart {
  readonly subscriptionId: string
  readonly afterTurn: number
  readonly run: NewRun
  /** Null = no limit. */
  readonly concurrentMax: number | null
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
