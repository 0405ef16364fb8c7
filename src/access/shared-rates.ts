import type { AccessStore } from './access-store.ts'
import { type Rate, type RateState, type Rates, rateState } from './rate-limits.ts'

/**
 * What is taken ahead of requests that have not come yet, as a share of a second, and for how long it is kept: a rate of
 * 50 costs one question to the store for every third request, one of 1,000 for every fiftieth. What is not used in time
 * is lost, so an application never gets more than its rate and at most this share less.
 */
const aheadSeconds = 0.05
const keptMs = 250

interface Reserve {
  tokens: number
  untilMs: number
  /** In the bucket of the store when it was last asked. */
  left: number
  waiting: { resolve: (state: RateState) => void; reject: (error: unknown) => void }[]
  asking: boolean
}

const reservesMax = 50_000

/** The buckets of a store that several processes serve: kept there, taken from in small portions. */
export class SharedRates implements Rates {
  #store: AccessStore
  #reserves = new Map<string, Reserve>()

  constructor(store: AccessStore) {
    this.#store = store
  }

  take(name: string, rate: Rate): RateState | Promise<RateState> {
    const reserve = this.#reserveOf(name)
    if (reserve.tokens >= 1 && performance.now() < reserve.untilMs) {
      reserve.tokens--
      return rateState(true, reserve.left + reserve.tokens, rate)
    }
    return new Promise((resolve, reject) => {
      reserve.waiting.push({ resolve, reject })
      if (!reserve.asking) void this.#ask(name, rate, reserve)
    })
  }

  /** Those that come while the store is asked are asked for together, next. */
  async #ask(name: string, rate: Rate, reserve: Reserve): Promise<void> {
    reserve.asking = true
    while (reserve.waiting.length > 0) {
      const group = reserve.waiting
      reserve.waiting = []
      const wanted = group.length + Math.floor(rate.perSecond * aheadSeconds)
      try {
        const { granted, left } = await this.#store.takeTokens(name, rate, wanted, Date.now())
        const spare = Math.max(0, granted - group.length)
        reserve.tokens = spare
        reserve.untilMs = performance.now() + keptMs
        reserve.left = left
        for (const [i, { resolve }] of group.entries()) resolve(rateState(i < granted, left + spare, rate))
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    reserve.asking = false
  }

  #reserveOf(name: string): Reserve {
    let reserve = this.#reserves.get(name)
    if (reserve === undefined) {
      if (this.#reserves.size >= reservesMax) {
        for (const [one, { asking }] of this.#reserves) if (!asking) this.#reserves.delete(one)
      }
      reserve = { tokens: 0, untilMs: 0, left: 0, waiting: [], asking: false }
      this.#reserves.set(name, reserve)
    }
    return reserve
  }
}
