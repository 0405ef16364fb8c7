import { isStorageFull } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { AccessStore } from './access-store.ts'
import { type Rate, RateLimits, type RateState, type Rates, rateState } from './rate-limits.ts'

/** The largest number of requests in one call to the store. */
const groupMax = 1000

interface Waiting {
  readonly name: string
  readonly rate: Rate
  readonly resolve: (state: RateState) => void
  readonly reject: (error: unknown) => void
}

/**
 * Token buckets in the store, which several processes share. Requests that arrive during a call to the store share the
 * next call.
 *
 * While the disk of the store is full, each process uses buckets of its own in memory, so that reads go on.
 */
export class SharedRates implements Rates {
  #store: AccessStore
  #incidents: Incidents
  #waiting: Waiting[] = []
  #isTaking = false
  /** Used while the disk of the store is full. */
  #local = new RateLimits()

  constructor(store: AccessStore, incidents: Incidents) {
    this.#store = store
    this.#incidents = incidents
  }

  take(name: string, rate: Rate): Promise<RateState> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ name, rate, resolve, reject })
      if (!this.#isTaking) void this.#takeWaiting()
    })
  }

  async #takeWaiting(): Promise<void> {
    this.#isTaking = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, groupMax)
      try {
        const takes = group.map(({ name, rate }) => ({ name, rate }))
        const results = await this.#store.takeTokens(takes, Date.now())
        for (const [i, { rate, resolve }] of group.entries()) {
          const { taken, left } = results[i]!
          resolve(rateState(taken, left, rate))
        }
        this.#incidents.worked('rates')
      } catch (error) {
        if (isStorageFull(error)) this.#incidents.failed('rates', error)
        for (const { name, rate, resolve, reject } of group) {
          if (isStorageFull(error)) resolve(this.#local.take(name, rate))
          else reject(error)
        }
      }
    }
    this.#isTaking = false
  }
}
