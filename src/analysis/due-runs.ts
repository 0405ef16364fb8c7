import { isScheduled } from '../access/policy-limits.ts'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { isUnavailability, TidemarkError } from '../errors.ts'
import { newId } from '../ids.ts'
import { dayMs } from '../time.ts'
import { algorithms } from './algorithms.ts'
import type { ApplicationAccess } from './analysis-store.ts'
import { analysisLimits } from './limits.ts'
import { dueAt } from './schedule.ts'
import type { ScopeChanges, SubscriptionStore, WaitingSubscription } from './subscription-store.ts'
import { type CheckedSubscription, checkSubscription } from './subscriptions.ts'

/** Subscriptions looked at in one turn: with more of them each has its turn less often. */
const subscriptionsAtOnce = 500
/** Events looked at by one call to the store, and by how many calls in one turn of a subscription. */
const eventsAtOnce = 5000
const looksAtOnce = 4
/** A process that is started anew looks at no more events than these a second time. */
const keptEvery = 10_000

const nothing: ScopeChanges = { firstAt: Infinity, lastAt: -Infinity }

/** One that may not start the run that is due is looked at again after this. */
const restMs = 5000

/** How far a subscription has been followed through the feed since its latest run, and what of that belongs to it. */
interface Followed {
  readonly turn: number
  /** Until then it is not looked at. */
  readonly restsUntil: number
  readonly through: number
  readonly changes: ScopeChanges | null
}

export interface SchedulingParts {
  readonly store: SubscriptionStore
  /** The time by the store's clock: processes that share it decide by the same. */
  readonly clock: () => Promise<number>
  /** A run waits for a worker. */
  readonly started: () => void
}

/**
 * Starts the runs that are due (`schedule.ts`). Any number of processes may do so at once: what one of them knows of the
 * feed only saves it from looking again, and a run is started by the store, in one step with looking whether it may be.
 */
export class DueRuns {
  readonly #parts: SchedulingParts
  /** Of this round over all subscriptions, and of the one before. */
  #followed = new Map<string, Followed>()
  #followedBefore = new Map<string, Followed>()
  #after: string | null = null

  constructor(parts: SchedulingParts) {
    this.#parts = parts
  }

  /**
   * Looks at some subscriptions. One that cannot be looked at does not keep the others from it; its error comes last.
   * Returns whether any of them waits for its time.
   */
  async start(): Promise<boolean> {
    const { store, clock } = this.#parts
    const now = await clock()
    const { waiting, newest, nextAfter } = await store.waitingSubscriptions({
      after: this.#after,
      limit: subscriptionsAtOnce,
      now,
    })
    let failure: unknown = null
    for (const one of waiting) {
      try {
        await this.#consider(one, newest, now)
      } catch (error) {
        if (error instanceof TidemarkError && isUnavailability(error)) throw error
        failure ??= error
      }
    }
    this.#after = nextAfter
    if (nextAfter === null) {
      this.#followedBefore = this.#followed
      this.#followed = new Map()
    }
    if (failure !== null) throw failure
    return waiting.length > 0 || nextAfter !== null
  }

  async #consider(waiting: WaitingSubscription, newest: number, now: number): Promise<void> {
    const { store } = this.#parts
    const { subscription, last, followedThrough } = waiting
    const { subscriptionId } = subscription
    let followed = this.#followed.get(subscriptionId) ?? this.#followedBefore.get(subscriptionId)
    if (followed?.turn !== waiting.turn) {
      followed = { turn: waiting.turn, restsUntil: -Infinity, through: followedThrough, changes: null }
    }
    this.#followed.set(subscriptionId, followed)
    const follows = subscription.executionMode !== 'scheduled' && last?.isComplete === true
    const isBehind = follows && followed.through < newest
    if (followed.restsUntil > now || (!isBehind && dueAt(waiting, followed.changes) > now)) return

    const application = await store.application(subscription.applicationId)
    const checked = await checkedFor(waiting, application, store)
    if (application === null || checked === null) return this.#rest(subscriptionId, now)
    if (isBehind) {
      followed = await this.#follow(waiting, followed, checked, newest, now)
      this.#followed.set(subscriptionId, followed)
      if (dueAt(waiting, followed.changes) > now) return
    }
    const retentionDays = subscription.artifactRetentionDays ?? analysisLimits.retentionDaysDefault
    const run = await store.startRun({
      subscriptionId,
      afterTurn: waiting.turn,
      concurrentMax: application.policy.analysis?.max_concurrent_runs ?? null,
      run: {
        runId: newId('run', now),
        applicationId: subscription.applicationId,
        analysisType: subscription.analysisType,
        embeddingProfileId: subscription.embeddingProfileId,
        inputScope: subscription.inputScope,
        parameters: checked.parameters,
        inputCutoffAt: now,
        retentionDays,
        scope: checked.scope,
        createdAt: now,
        expiresAt: now + retentionDays * dayMs,
      },
    })
    if (run === null) return this.#rest(subscriptionId, now)
    this.#parts.started()
  }

  #rest(subscriptionId: string, now: number): void {
    const followed = this.#followed.get(subscriptionId)!
    this.#followed.set(subscriptionId, { ...followed, restsUntil: now + restMs })
  }

  async #follow(
    { subscription, followedThrough }: WaitingSubscription,
    from: Followed,
    { scope }: CheckedSubscription,
    newest: number,
    now: number,
  ): Promise<Followed> {
    const { store } = this.#parts
    let { through, changes } = from
    for (let looks = 0; looks < looksAtOnce && through < newest; looks++) {
      const found = await store.changesWithin({
        after: through,
        events: eventsAtOnce,
        scope,
        inputScope: subscription.inputScope,
        // Neither texts nor vectors change with them.
        withMetrics: !algorithms[subscription.analysisType].needsVectors,
        now,
      })
      through = found.through
      const { firstAt, lastAt } = changes ?? nothing
      if (found.changes !== null) {
        changes = { firstAt: Math.min(firstAt, found.changes.firstAt), lastAt: Math.max(lastAt, found.changes.lastAt) }
      }
    }
    if (changes === null && through >= followedThrough + keptEvery) {
      await store.keepFollowed(subscription.subscriptionId, from.turn, through)
    }
    return { ...from, through, changes }
  }
}

/** What the subscription may be computed on; null while its application may not have that, or no schedule. */
async function checkedFor(
  { subscription }: WaitingSubscription,
  application: ApplicationAccess | null,
  store: SubscriptionStore,
): Promise<CheckedSubscription | null> {
  if (application === null || !isScheduled(application.policy)) return null
  const { policy, entitlements } = application
  try {
    return await checkSubscription(subscription, { policy, entries: entitlements.map(scopeEntryOf) }, store)
  } catch (error) {
    if (error instanceof TidemarkError && error.status < 500) return null
    throw error
  }
}
