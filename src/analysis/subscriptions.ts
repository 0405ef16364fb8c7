/**
 * Subscriptions to an analysis. Scheduling is not live: a subscription keeps what is wanted and creates no runs.
 *
 *   active | paused             what its owner set last, by pause and resume
 *   disabled                    the application's analysis is switched off
 *   reconciliation_required     its scope or its profile is no longer allowed
 *
 * The last two follow from what is allowed now and are never stored: they come and go with policy and entitlements.
 * Resume tests what creation tests, and fails as creation would.
 */
import type { Consumer } from '../access/principal.ts'
import { TidemarkError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import { checkRequest, notFound } from './check-request.ts'
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

export class AnalysisSubscriptions {
  readonly #store: SubscriptionStore
  readonly #now: () => number

  constructor(store: SubscriptionStore, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  async create(consumer: Consumer, request: SubscriptionRequest): Promise<SubscriptionNow> {
    await checkRequest(request, consumer, this.#store, invalid)
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
    await this.#store.addSubscription(subscription)
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

  async pause(consumer: Consumer, subscriptionId: string): Promise<SubscriptionNow> {
    await this.read(consumer, subscriptionId)
    return this.#set(consumer, subscriptionId, true)
  }

  async resume(consumer: Consumer, subscriptionId: string): Promise<SubscriptionNow> {
    const { subscription } = await this.read(consumer, subscriptionId)
    await checkRequest(subscription, consumer, this.#store, invalid)
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
      await checkRequest(subscription, consumer, this.#store, invalid)
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.status >= 500) throw error
      return { subscription, status: 'reconciliation_required' }
    }
    return { subscription, status: subscription.paused ? 'paused' : 'active' }
  }
}
