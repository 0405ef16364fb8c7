import type { AccessStore, TokensTaken } from './access-store.ts'
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
}

interface Waiting {
  rate: Rate
  readonly requests: { resolve: (state: RateState) => void; reject: (error: unknown) => void }[]
}

const reservesMax = 50_000

/** The buckets of a store that several processes serve: kept there, taken from in small portions. */
export class SharedRates implements Rates {
  #store: AccessStore
  #reserves = new Map<string, Reserve>()
  #waiting = new Map<string, Waiting>()
  #asking = false

  constructor(store: AccessStore) {
    this.#store = store
  }

  take(name: string, rate: Rate): RateState | Promise<RateState> {
    const reserve = this.#reserves.get(name)
    if (reserve !== undefined && reserve.tokens >= 1 && performance.now() < reserve.untilMs) {
      reserve.tokens--
      return rateState(true, reserve.left + reserve.tokens, rate)
    }
    return new Promise((resolve, reject) => {
      let waiting = this.#waiting.get(name)
      if (waiting === undefined) {
        waiting = { rate, requests: [] }
        this.#waiting.set(name, waiting)
      }
      waiting.rate = rate
      waiting.requests.push({ resolve, reject })
      if (!this.#asking) void this.#ask()
    })
  }

  /** Those that come while the store is asked, of all applications, are asked for together, next. */
  async #ask(): Promise<void> {
    this.#asking = true
    while (this.#waiting.size > 0) {
      const group = [...this.#waiting]
      this.#waiting = new Map()
      const takes = group.map(([name, { rate, requests }]) => {
        return { name, rate, wanted: requests.length + Math.floor(rate.perSecond * aheadSeconds) }
      })
      try {
        const taken = await this.#store.takeTokens(takes, Date.now())
        for (const [i, [name, waiting]] of group.entries()) this.#serve(name, waiting, taken[i]!)
      } catch (error) {
        for (const [, { requests }] of group) for (const { reject } of requests) reject(error)
      }
    }
    this.#asking = false
  }

  #serve(name: string, { rate, requests }: Waiting, { granted, left }: TokensTaken): void {
    const tokens = Math.max(0, granted - requests.length)
    if (this.#reserves.size >= reservesMax) this.#reserves.clear()
    this.#reserves.set(name, { tokens, untilMs: performance.now() + keptMs, left })
    for (const [i, { resolve }] of requests.entries()) resolve(rateState(i < granted, left + tokens, rate))
  }
}
