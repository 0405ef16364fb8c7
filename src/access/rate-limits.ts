/**
 * A token bucket for each application: `burst` requests at once after a pause, `perSecond` sustained. Two fixed windows
 * (rate-limiter-flexible calls them bursty) were rejected, because they allow twice the rate around the change of a
 * window.
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

/** Takes the tokens of requests: in this process, or in the store if several processes share it. */
export interface Rates {
  /** Returns a promise only if the store must be asked. */
  take(name: string, rate: Rate): RateState | Promise<RateState>
}

/** Takes one token if a whole one is left. An unknown bucket is full. */
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

/** A bucket that is idle becomes full, so forgetting it changes nothing. From this number on, full buckets are removed. */
const bucketsMax = 50_000

/** The buckets of a store that is served by one process. */
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
    // If most buckets are in use, a scan for each new one would cost more than it frees.
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
