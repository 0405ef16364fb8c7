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
  /** As of the last take: how fast it fills, and to where. */
  rate: Rate
}

/** Idle buckets are full ones, so forgetting them changes nothing; from this many on they are looked for. */
const bucketsMax = 50_000

export class RateLimits {
  #buckets = new Map<string, Bucket>()
  #forgetFrom = bucketsMax

  /** `nowMs` comes from a clock that never steps back (performance.now): a wall clock set back and on again would fill twice. */
  take(name: string, rate: Rate, nowMs: number): RateState {
    let bucket = this.#buckets.get(name)
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#forgetFrom) this.#forgetFull(nowMs)
      bucket = { tokens: rate.burst, updatedMs: nowMs, rate }
      this.#buckets.set(name, bucket)
    }
    bucket.tokens = Math.min(rate.burst, tokensAt(bucket, nowMs))
    bucket.updatedMs = nowMs
    bucket.rate = rate
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((rate.burst - bucket.tokens) / rate.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / rate.perSecond)),
    }
  }

  #forgetFull(nowMs: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (tokensAt(bucket, nowMs) >= bucket.rate.burst) this.#buckets.delete(name)
    }
    // Where most are in use, looking again at every new one would cost more than it frees.
    this.#forgetFrom = Math.max(bucketsMax, this.#buckets.size * 2)
  }
}

function tokensAt({ tokens, updatedMs, rate }: Bucket, nowMs: number): number {
  return Math.min(rate.burst, tokens + ((nowMs - updatedMs) * rate.perSecond) / 1000)
}
