/**
 * A token bucket per application: `burst` requests at once after a pause, `perSecond` sustained. Chosen over two fixed
 * windows (what rate-limiter-flexible calls bursty), which let twice the rate through around the turn of a window.
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

interface Bucket {
  tokens: number
  updatedMs: number
}

/** Idle buckets are full ones, so forgetting them changes nothing. */
const bucketsMax = 50_000

export class RateLimits {
  #buckets = new Map<string, Bucket>()

  take(name: string, rate: Rate, nowMs: number): RateState {
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      if (this.#buckets.size >= bucketsMax) this.#forgetFull(nowMs, rate)
      bucket = { tokens: rate.burst, updatedMs: nowMs }
      this.#buckets.set(name, bucket)
    }
    // A clock that steps back must not take tokens away.
    const elapsedMs = Math.max(0, nowMs - bucket.updatedMs)
    bucket.tokens = Math.min(rate.burst, bucket.tokens + (elapsedMs * rate.perSecond) / 1000)
    bucket.updatedMs = nowMs
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((rate.burst - bucket.tokens) / rate.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / rate.perSecond)),
    }
  }

  #forgetFull(nowMs: number, rate: Rate): void {
    for (const [name, bucket] of this.#buckets) {
      if (bucket.tokens + ((nowMs - bucket.updatedMs) * rate.perSecond) / 1000 >= rate.burst) this.#buckets.delete(name)
    }
  }
}
