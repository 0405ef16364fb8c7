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

/** Subscriptions checked in one turn. If there are more, each is checked less often. */
const subscriptionsAtOnce = 500
/** Events scanned by one call to the store, and calls per turn of a subscription. */
const eventsAtOnce = 5000
const looksAtOnce = 4
/** After a restart, a process scans at most this many events again. */
const keptEvery = 10_000

const nothing: ScopeChanges = { firstAt: Infinity, lastAt: -Infinity }

/** The pause after which a due run that was not allowed to start is tried again. */
const restMs = 5000

/**
 * The position in the feed that a subscription was followed to since its latest run, and the relevant changes found.
 */
interface Followed {
  readonly turn: number
  /** Not checked before this time. */
  readonly restsUntil: number
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
 * Starts the runs that are due (`schedule.ts`). Any number of processes may do so at once: knowledge about the feed
 * only saves a process from scanning again, and the store starts a run in the same transaction in which it checks
 * whether that is allowed.
 */
export class DueRuns {
  readonly #parts: SchedulingParts
  /** From this round over all subscriptions, and from the previous one. */
  #followed = new Map<string, Followed>()
  #followedBefore = new Map<string, Followed>()
  #after: string | null = null

  constructor(parts: SchedulingParts) {
    this.#parts = parts
  }

  /**
   * Checks some subscriptions. If one check fails, the others still run, and the error is thrown at the end. Returns
   * whether any subscription waits for its time.
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
        // A change of metrics alone changes no vector.
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

/** The current input of the subscription; null while its application has no access to it or no schedule. */
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
