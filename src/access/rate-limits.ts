/**
 * The rate of a token bucket: `burst` requests at once after a pause, `perSecond` sustained. Fixed windows were
 * rejected, because they allow twice the rate around the boundary of two windows.
 */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface RateState {
  readonly allowed: boolean
  readonly remaining: number
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number
  /** Seconds until one request is possible again; 0 when allowed. */
  readonly retryAfterSeconds: number
}

export interface Bucket {
  readonly tokens: number
  readonly updatedMs: number
}

/** Takes tokens for requests: in this process, or in the store if several processes share it. */
export interface Rates {
  /** Returns a promise only if the store must be asked. */
  take(name: string, rate: Rate): RateState | Promise<RateState>
}

/** Takes one token if a whole one is left. Null is a new bucket, which is full. */
export function takeToken(
  bucket: Bucket | null,
  rate: Rate,
  nowMs: number,
): { readonly taken: boolean; readonly bucket: Bucket } {
  const tokens = bucket === null ? rate.burst : tokensAt(bucket, rate, nowMs)
  const taken = tokens >= 1
  // The clocks of processes differ slightly. Time never goes back for a bucket, or it would fill twice.
  const updatedMs = Math.max(nowMs, bucket?.updatedMs ?? nowMs)
  return { taken, bucket: { tokens: taken ? tokens - 1 : tokens, updatedMs } }
}

export function rateState(allowed: boolean, tokens: number, rate: Rate): RateState {
  return {
    allowed,
    remaining: Math.floor(tokens),
    resetSeconds: Math.ceil((rate.burst - tokens) / rate.perSecond),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / rate.perSecond)),
  }
}

/** Above this number, full buckets are removed. This changes no rate, because a new bucket is full. */
const bucketsMax = 50_000

/** Token buckets in memory, for a store that one process serves. */
export class RateLimits implements Rates {
  #buckets = new Map<string, Bucket & { readonly rate: Rate }>()
  #forgetFrom = bucketsMax

  /** `nowMs` comes from a monotonic clock: a wall clock set back and forward again would fill a bucket twice. */
  take(name: string, rate: Rate, nowMs: number = performance.now()): RateState {
    const known = this.#buckets.get(name)
    if (known === undefined && this.#buckets.size >= this.#forgetFrom) this.#forgetFull(nowMs)
    const { taken, bucket } = takeToken(known ?? null, rate, nowMs)
    this.#buckets.set(name, { ...bucket, rate })
    return rateState(taken, bucket.tokens, rate)
  }

  #forgetFull(nowMs: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (tokensAt(bucket, bucket.rate, nowMs) >= bucket.rate.burst) this.#buckets.delete(name)
    }
    // Most buckets may be in use. The next scan therefore waits until their number has doubled.
    this.#forgetFrom = Math.max(bucketsMax, this.#buckets.size * 2)
  }
}

/**
 * A number of tokens this close below a whole number is rounded up, so that a client that waited for `Retry-After` gets
 * its token. It is never rounded down: with frequent requests a slow bucket would then never fill.
 */
const rounding = 1e-6

function tokensAt({ tokens, updatedMs }: Bucket, rate: Rate, nowMs: number): number {
  const now = tokens + (Math.max(0, nowMs - updatedMs) * rate.perSecond) / 1000
  const whole = Math.ceil(now)
  return Math.min(rate.burst, whole - now < rounding ? whole : now)
}
