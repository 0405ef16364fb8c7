/**
 * Subscriptions to an analysis. They start runs (`schedule.ts`, `due-runs.ts`) where the application's policy has
 * `analysis.scheduling`; without it they only keep what is wanted.
 *
 *   active | paused             what its owner set last, by pause and resume
 *   disabled                    the application's analysis is switched off
 *   reconciliation_required     its scope, its profile or its parameters are no longer allowed
 *
 * The last two follow from what is allowed now and are never stored: they come and go with policy and entitlements.
 * Resume tests what creation tests, and fails as creation would. Only an active one starts runs; one that is under way
 * goes on to its end, whatever the subscription becomes meanwhile.
 */
import { type Claim, claimFor } from '../access/claim.ts'
import { isExecuted, isScheduled } from '../access/policy-limits.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import { TidemarkError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import { dayMs } from '../time.ts'
import type { KeptParameters } from './algorithm.ts'
import type { Run } from './analysis-store.ts'
import { checkRequest, notFound } from './check-request.ts'
import { analysisLimits } from './limits.ts'
import { checkParameters, needsOf } from './parameters.ts'
import { runAt } from './runs.ts'
import type { Subscription, SubscriptionStore } from './subscription-store.ts'

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

/** What a run of the subscription would be computed on, and with. */
export interface CheckedSubscription {
  readonly scope: Scope
  readonly parameters: KeptParameters | null
}

/**
 * What is tested at its creation, at every look at its status and before every run. Parameters that it lacks are no fault
 * while it does not start runs.
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

  /** Its runs that have ended, after a turn; each once, since they end one after the other. */
  async runs(consumer: Consumer, subscriptionId: string, afterTurn: number): Promise<readonly Run[]> {
    await this.read(consumer, subscriptionId)
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
