import { isStorageFull } from '../errors.ts'
import type { Incidents } from '../incidents.ts'
import type { AccessStore, NamedTokenRequest, TokensGranted } from './access-store.ts'
import { type Rate, RateLimits, type RateState, type Rates, rateState } from './rate-limits.ts'

/**
 * The buckets of a store that several processes serve: kept there, taken from in small portions ahead of the requests.
 *
 * With what its waiting requests need, a process takes as many tokens more as it had requests in the last second, and no
 * more than a twentieth of what the rate allows in a second. So an application that is allowed 50 requests a second
 * costs one question to the store for every second or third of them, and one that is allowed 1,000 for some forty. It asks
 * for more beside a request that leaves it little, so that of steady ones the first alone waits. What is taken is used or
 * given back: a token is lost only with its process, or when the store fails. What is held makes up for pauses, as the
 * bucket itself does: an application may get that much more than its burst at once.
 *
 * While the store has no room for a write, which is no reason to refuse a reader, each process counts for itself.
 */
const aheadSeconds = 0.05
const recentMs = 1000
/** What is held is little when it lasts no longer than this at the pace of late: the store should answer within it. */
const littleMs = 5
const giveBackMs = 250

/** Buckets that one question is about, at most. */
const bucketsMax = 1000

interface Reserve {
  readonly name: string
  rate: Rate
  tokens: number
  /** In the bucket of the store when it was last asked. */
  left: number
  /** Requests of late, the older ones counting ever less. */
  recent: number
  recentAtMs: number
  /** Requests that there was no token for. While there are any, no token is held. */
  waiting: { readonly resolve: (state: RateState) => void; readonly reject: (error: unknown) => void }[]
  /** Tokens on their way back. */
  returning: number
}

/** What time it is, and what is to be done later. */
export interface Clock {
  /** Never steps back. */
  nowMs(): number
  /** The same in all processes, more or less. */
  wallMs(): number
  after(ms: number, work: () => void): void
}

const machineClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (ms, work) => void setTimeout(work, ms).unref(),
}

export class SharedRates implements Rates {
  #store: AccessStore
  #incidents: Incidents
  #clock: Clock
  /** Of applications that made requests of late. */
  #reserves = new Map<string, Reserve>()
  /** Those with requests that wait, with few tokens left, or with some to give back. */
  #wanting = new Set<Reserve>()
  #asking = false
  /** In use while the store is full. */
  #alone = new RateLimits()

  constructor(store: AccessStore, incidents: Incidents, clock: Clock = machineClock) {
    this.#store = store
    this.#incidents = incidents
    this.#clock = clock
  }

  take(name: string, rate: Rate): RateState | Promise<RateState> {
    const reserve = this.#reserveOf(name, rate)
    this.#fade(reserve)
    reserve.recent++
    // A policy that allows less than before holds from this request on.
    reserve.rate = rate
    reserve.tokens = Math.min(reserve.tokens, aheadMax(rate))
    if (reserve.tokens > 0) {
      reserve.tokens--
      if (holdsLittle(reserve)) this.#want(reserve)
      return rateState(true, reserve.left + reserve.tokens, rate)
    }
    return new Promise((resolve, reject) => {
      reserve.waiting.push({ resolve, reject })
      this.#want(reserve)
    })
  }

  #want(reserve: Reserve): void {
    this.#wanting.add(reserve)
    if (!this.#asking) void this.#ask()
  }

  /** Those that come while the store is asked, of all applications, are asked for together, next. */
  async #ask(): Promise<void> {
    this.#asking = true
    while (this.#wanting.size > 0) {
      const group = this.#wanting.values().take(bucketsMax).toArray()
      const takes = group.map((reserve) => this.#takeOf(reserve))
      try {
        const taken = await this.#store.takeTokens(takes, this.#clock.wallMs())
        for (const [i, reserve] of group.entries()) serve(reserve, takes[i]!.wanted, taken[i]!)
        this.#incidents.worked('rates')
      } catch (error) {
        this.#fail(group, takes, error)
      }
      for (const reserve of group) {
        if (reserve.waiting.length === 0 && reserve.returning === 0) this.#wanting.delete(reserve)
      }
    }
    this.#asking = false
  }

  /** Those that wait are told; where nobody does, or all are served anyhow, the log is. */
  #fail(group: readonly Reserve[], takes: readonly NamedTokenRequest[], error: unknown): void {
    const isFull = isStorageFull(error)
    let rejected = 0
    for (const [i, { name, rate, waiting }] of group.entries()) {
      for (const { resolve, reject } of waiting.splice(0, takes[i]!.wanted)) {
        if (isFull) resolve(this.#alone.take(name, rate, this.#clock.nowMs()))
        else {
          rejected++
          reject(error)
        }
      }
    }
    if (rejected === 0) this.#incidents.failed('rates', error)
  }

  #takeOf(reserve: Reserve): NamedTokenRequest {
    this.#fade(reserve)
    const { name, rate, waiting, returning: returned } = reserve
    reserve.returning = 0
    const ahead = Math.max(0, aheadOf(reserve) - reserve.tokens)
    return { name, rate, wanted: waiting.length, ahead, returned }
  }

  #reserveOf(name: string, rate: Rate): Reserve {
    const known = this.#reserves.get(name)
    if (known !== undefined) return known
    if (this.#reserves.size === 0) this.#clock.after(giveBackMs, () => this.#giveBack())
    const recentAtMs = this.#clock.nowMs()
    const reserve = { name, rate, tokens: 0, left: 0, recent: 0, recentAtMs, waiting: [], returning: 0 }
    this.#reserves.set(name, reserve)
    return reserve
  }

  /** What is far more than the requests of late give reason to hold goes back, of all applications in one. */
  #giveBack(): void {
    for (const [name, reserve] of this.#reserves) {
      this.#fade(reserve)
      const wanted = Math.round(reserve.recent)
      if (reserve.tokens > 2 * wanted) {
        reserve.returning += reserve.tokens - wanted
        reserve.tokens = wanted
        this.#wanting.add(reserve)
      }
      if (reserve.tokens === 0 && reserve.recent < 1 && !this.#wanting.has(reserve)) this.#reserves.delete(name)
    }
    if (!this.#asking) void this.#ask()
    if (this.#reserves.size > 0) this.#clock.after(giveBackMs, () => this.#giveBack())
  }

  #fade(reserve: Reserve): void {
    const nowMs = this.#clock.nowMs()
    reserve.recent *= Math.exp((reserve.recentAtMs - nowMs) / recentMs)
    reserve.recentAtMs = nowMs
  }
}

const aheadMax = (rate: Rate): number => Math.floor(rate.perSecond * aheadSeconds)

/** What there is reason to hold. */
const aheadOf = ({ rate, recent }: Reserve): number => Math.min(aheadMax(rate), Math.round(recent))

const holdsLittle = (reserve: Reserve): boolean =>
  reserve.tokens < aheadOf(reserve) && reserve.tokens <= (reserve.recent * littleMs) / recentMs

/** The first `asked` of those that wait get what they asked for; what is left over serves those that came since. */
function serve(reserve: Reserve, asked: number, { granted, left }: TokensGranted): void {
  const { rate, waiting } = reserve
  reserve.left = left
  reserve.tokens += granted
  for (const { resolve } of waiting.splice(0, Math.max(asked, reserve.tokens))) {
    const allowed = reserve.tokens > 0
    if (allowed) reserve.tokens--
    resolve(rateState(allowed, left + reserve.tokens, rate))
  }
}
