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

export interface Bucket {
  readonly tokens: number
  readonly updatedMs: number
}

/** Who takes a request's token: in this process, or in the store where several processes share it. */
export interface Rates {
  /** A promise only where somebody else must be asked. */
  take(name: string, rate: Rate): RateState | Promise<RateState>
}

export interface TokenRequest {
  readonly wanted: number
  /** For requests that are still to come: of these, no more than half of what is left, so that others find some too. */
  readonly ahead?: number
  /** Taken before, and not needed. */
  readonly returned?: number
}

/** As many whole tokens as there are, up to what is wanted. A bucket that is not known is full. */
export function takeTokens(
  bucket: Bucket | null,
  rate: Rate,
  { wanted, ahead = 0, returned = 0 }: TokenRequest,
  nowMs: number,
): { readonly granted: number; readonly bucket: Bucket } {
  const tokens = bucket === null ? rate.burst : Math.min(rate.burst, tokensAt(bucket, rate, nowMs) + returned)
  const needed = Math.min(wanted, Math.floor(tokens))
  const granted = needed + Math.min(ahead, Math.floor((tokens - needed) / 2))
  // Clocks of several processes differ a little: time never goes back for a bucket, or it would fill twice.
  const updatedMs = Math.max(nowMs, bucket?.updatedMs ?? nowMs)
  return { granted, bucket: { tokens: tokens - granted, updatedMs } }
}

export function rateState(allowed: boolean, tokens: number, rate: Rate): RateState {
  return {
    allowed,
    remaining: Math.floor(tokens),
    resetSeconds: Math.ceil((rate.burst - tokens) / rate.perSecond),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / rate.perSecond)),
  }
}

/** Idle buckets are full ones, so forgetting them changes nothing; from this many on they are looked for. */
const bucketsMax = 50_000

/** The buckets of a store that one process serves. */
export class RateLimits implements Rates {
  #buckets = new Map<string, Bucket & { readonly rate: Rate }>()
  #forgetFrom = bucketsMax

  /** `nowMs` comes from a clock that never steps back: a wall clock set back and on again would fill twice. */
  take(name: string, rate: Rate, nowMs: number = performance.now()): RateState {
    const known = this.#buckets.get(name)
    if (known === undefined && this.#buckets.size >= this.#forgetFrom) this.#forgetFull(nowMs)
    const { granted, bucket } = takeTokens(known ?? null, rate, { wanted: 1 }, nowMs)
    this.#buckets.set(name, { ...bucket, rate })
    return rateState(granted === 1, bucket.tokens, rate)
  }

  #forgetFull(nowMs: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (tokensAt(bucket, bucket.rate, nowMs) >= bucket.rate.burst) this.#buckets.delete(name)
    }
    // Where most are in use, looking again at every new one would cost more than it frees.
    this.#forgetFrom = Math.max(bucketsMax, this.#buckets.size * 2)
  }
}

/**
 * So little below a whole number of tokens it is that number: who waited as long as `Retry-After` said has the token. Never
 * down: asked often enough, a slow bucket would not fill at all.
 */
const rounding = 1e-6

function tokensAt({ tokens, updatedMs }: Bucket, rate: Rate, nowMs: number): number {
  const now = tokens + (Math.max(0, nowMs - updatedMs) * rate.perSecond) / 1000
  const whole = Math.ceil(now)
  return Math.min(rate.burst, whole - now < rounding ? whole : now)
}
