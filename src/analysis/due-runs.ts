import { isScheduled } from '../access/policy-limits.ts'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { dayMs } from '../platform/time.ts'
import { algorithms } from './algorithms.ts'
import type { ApplicationAccess } from './analysis-store.ts'
import { analysisLimits } from './limits.ts'
import { dueAt } from './schedule.ts'
import type { ScopeChanges, SubscriptionStore, WaitingSubscription } from './subscription-store.ts'
import { type CheckedSubscription, checkSubscription } from './subscriptions.ts'

/** Subscriptions checked by one call of `start`. If there are more, each is checked less often. */
const subscriptionsAtOnce = 500
/** Events scanned by one call to the store, and calls per check of a subscription. */
const eventsAtOnce = 5000
const scansAtOnce = 4
/** The position is stored after this many events without a change. After a restart, a process scans from there. */
const storeEvery = 10_000

const nothing: ScopeChanges = { firstAt: Infinity, lastAt: -Infinity }

/** After this pause, a due run that was not allowed to start is tried again. */
const retryMs = 5000

/** How far the feed was scanned for a subscription since its latest run, and the relevant changes found. */
interface Followed {
  readonly turn: number
  /** Not checked before this time. */
  readonly retryAt: number
  readonly through: number
  readonly changes: ScopeChanges | null
}

export interface SchedulingParts {
  readonly store: SubscriptionStore
  /** The store's clock, which all processes that share the store use. */
  readonly clock: () => Promise<number>
  /** Called when a run waits for a worker. */
  readonly started: () => void
}

/**
 * Starts the runs that are due (`schedule.ts`). Any number of processes may do so at once. They remember the feed only
 * to avoid scanning it again, and the store checks whether a run may start in the transaction that starts it.
 */
export class DueRuns {
  readonly #parts: SchedulingParts
  /** The first map is from the current round over all subscriptions, the second from the previous round. */
  #followed = new Map<string, Followed>()
  #followedBefore = new Map<string, Followed>()
  #after: string | null = null

  constructor(parts: SchedulingParts) {
    this.#parts = parts
  }

  /**
   * Checks some subscriptions. If one check fails, the others still run, and the error is thrown at the end. Returns
   * false if no subscription can start a run.
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
      followed = { turn: waiting.turn, retryAt: -Infinity, through: followedThrough, changes: null }
    }
    this.#followed.set(subscriptionId, followed)
    const follows = subscription.executionMode !== 'scheduled' && last?.isComplete === true
    const isBehind = follows && followed.through < newest
    if (followed.retryAt > now || (!isBehind && dueAt(waiting, followed.changes) > now)) return

    const application = await store.application(subscription.applicationId)
    const checked = await checkedFor(waiting, application, store)
    if (application === null || checked === null) return this.#postpone(subscriptionId, now)
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
    if (run === null) return this.#postpone(subscriptionId, now)
    this.#parts.started()
  }

  #postpone(subscriptionId: string, now: number): void {
    const followed = this.#followed.get(subscriptionId)!
    this.#followed.set(subscriptionId, { ...followed, retryAt: now + retryMs })
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
    for (let scans = 0; scans < scansAtOnce && through < newest; scans++) {
      const found = await store.changesWithin({
        after: through,
        events: eventsAtOnce,
        scope,
        inputScope: subscription.inputScope,
        // If only metrics change, vectors stay the same.
        withMetrics: !algorithms[subscription.analysisType].needsVectors,
        now,
      })
      through = found.through
      const { firstAt, lastAt } = changes ?? nothing
      if (found.changes !== null) {
        changes = { firstAt: Math.min(firstAt, found.changes.firstAt), lastAt: Math.max(lastAt, found.changes.lastAt) }
      }
    }
    if (changes === null && through >= followedThrough + storeEvery) {
      await store.keepFollowed(subscription.subscriptionId, from.turn, through)
    }
    return { ...from, through, changes }
  }
}

/** Returns the checked subscription; null while its application may not read the input or has no scheduling. */
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
