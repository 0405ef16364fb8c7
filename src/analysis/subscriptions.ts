/**
 * Subscriptions to an analysis. They start runs (`schedule.ts`, `due-runs.ts`) if the application's policy has
 * `analysis.scheduling`; otherwise they are only stored.
 *
 *   active | paused             set by the application, with pause and resume
 *   disabled                    analysis is disabled for the application
 *   reconciliation_required     its scope, its profile or its parameters are no longer allowed
 *
 * The last two depend on what is allowed now and are never stored: they change with policy and entitlements.
 * Resume makes the same checks as creation, with the same errors. Only an active subscription starts runs. A run in
 * progress completes, even if the status of the subscription changes meanwhile.
 */
import { type Claim, claimFor } from '../access/claim.ts'
import { isExecuted, isScheduled } from '../access/policy-limits.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import { TidemarkError } from '../platform/errors.ts'
import { isId, newId } from '../platform/ids.ts'
import { dayMs } from '../platform/time.ts'
import type { KeptParameters } from './algorithm.ts'
import type { Run } from './analysis-store.ts'
import { checkRequest, notFound } from './check-request.ts'
import { analysisLimits } from './limits.ts'
import { checkParameters, needsOf } from './parameters.ts'
import { runAt } from './runs.ts'
import type { SeenRun, Subscription, SubscriptionStore } from './subscription-store.ts'

export const subscriptionStatuses = ['active', 'paused', 'disabled', 'reconciliation_required'] as const
export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

export type SubscriptionRequest = Omit<
  Subscription,
  'subscriptionId' | 'applicationId' | 'paused' | 'createdAt' | 'updatedAt' | 'checkpoint'
>

export interface SubscriptionNow {
  readonly subscription: Subscription
  readonly status: SubscriptionStatus
}

const invalid = 'invalid_analysis_subscription'

/** The scope and the parameters of a run of the subscription. */
export interface CheckedSubscription {
  readonly scope: Scope
  readonly parameters: KeptParameters | null
}

/**
 * Makes the checks of creation. They are repeated whenever a status is computed or a run is started. Missing parameters are allowed while the
 * subscription does not start runs.
 */
export async function checkSubscription(
  request: Pick<Subscription, 'analysisType' | 'embeddingProfileId' | 'inputScope' | 'parameters'>,
  consumer: Pick<Consumer, 'policy' | 'entries'>,
  store: SubscriptionStore,
): Promise<CheckedSubscription> {
  const { policy } = consumer
  const { analysisType } = request
  const given = request.parameters ?? (isScheduled(policy) ? {} : null)
  const parameters =
    given === null ? null : checkParameters(analysisType, given, isExecuted(policy, analysisType), invalid)
  const scope = await checkRequest(request, consumer, store, invalid, needsOf(analysisType, parameters))
  return { scope, parameters }
}

const rolledBackError = (): TidemarkError =>
  new TidemarkError(
    'cursor_expired',
    'the service was rolled back to an earlier state, and the run at this cursor no longer exists: read the runs again, without `after`',
    { details: [{ path: 'after', message: 'was issued before the service was rolled back: start over without it' }] },
  )

export class AnalysisSubscriptions {
  readonly #store: SubscriptionStore
  readonly #now: () => number

  constructor(store: SubscriptionStore, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  async create(consumer: Consumer, request: SubscriptionRequest, claim: Claim | null = null): Promise<SubscriptionNow> {
    await checkSubscription(request, consumer, this.#store)
    const now = this.#now()
    const subscription: Subscription = {
      ...request,
      subscriptionId: newId('sub', now),
      applicationId: consumer.applicationId,
      paused: false,
      createdAt: now,
      updatedAt: now,
      checkpoint: null,
    }
    await this.#store.addSubscription(subscription, claimFor(claim, subscription.subscriptionId))
    return { subscription, status: 'active' }
  }

  async list(
    consumer: Consumer,
    page: { readonly before: string | null; readonly limit: number },
  ): Promise<readonly SubscriptionNow[]> {
    const found = await this.#store.subscriptions({ applicationId: consumer.applicationId, ...page })
    return Promise.all(found.map((one) => this.#withStatus(consumer, one)))
  }

  async read(consumer: Consumer, subscriptionId: string): Promise<SubscriptionNow> {
    const found = isId('sub', subscriptionId)
      ? await this.#store.subscription(consumer.applicationId, subscriptionId)
      : null
    if (found === null) throw notFound('subscription')
    return this.#withStatus(consumer, found)
  }

  /**
   * Returns its ended runs after one that was seen. None is missed or repeated, because they end one after the other.
   */
  async runs(consumer: Consumer, subscriptionId: string, seen: SeenRun | null): Promise<readonly Run[]> {
    await this.read(consumer, subscriptionId)
    if (seen !== null && !(await this.#store.knowsRun(subscriptionId, seen))) throw rolledBackError()
    const afterTurn = seen?.turn ?? 0
    const now = this.#now()
    const goneBefore = now - analysisLimits.expiredDays * dayMs
    const limit = analysisLimits.pageDefault
    const runs = await this.#store.endedRuns({ subscriptionId, afterTurn, limit, now, goneBefore })
    return runs.flatMap((run) => runAt(run, now) ?? [])
  }

  async pause(consumer: Consumer, subscriptionId: string): Promise<SubscriptionNow> {
    await this.read(consumer, subscriptionId)
    return this.#set(consumer, subscriptionId, true)
  }

  async resume(consumer: Consumer, subscriptionId: string): Promise<SubscriptionNow> {
    const { subscription } = await this.read(consumer, subscriptionId)
    await checkSubscription(subscription, consumer, this.#store)
    return this.#set(consumer, subscriptionId, false)
  }

  async #set(consumer: Consumer, subscriptionId: string, paused: boolean): Promise<SubscriptionNow> {
    const changed = await this.#store.setPaused(consumer.applicationId, subscriptionId, paused, this.#now())
    if (changed === null) throw notFound('subscription')
    return this.#withStatus(consumer, changed)
  }

  async #withStatus(consumer: Consumer, subscription: Subscription): Promise<SubscriptionNow> {
    if (consumer.policy.analysis_enabled !== true) return { subscription, status: 'disabled' }
    try {
      await checkSubscription(subscription, consumer, this.#store)
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.status >= 500) throw error
      return { subscription, status: 'reconciliation_required' }
    }
    return { subscription, status: subscription.paused ? 'paused' : 'active' }
  }
}
