/**
 * A circuit breaker. It keeps callers from waiting for a provider that is down.
 *
 *   state      succeeded  failed  failed, the limit reached  cooled down
 *   closed     closed     closed  open                       closed
 *   open       open       open    open                       half_open
 *   half_open  closed     open    open                       half_open
 *
 * A closed breaker admits every request and counts failures in a row; a success resets the count. An open breaker
 * admits none for `cooldownMs`. A half-open breaker admits one request, the probe, and no others until the probe has
 * ended. The outcome of a request that was admitted before the last change of state is ignored. A request that the
 * caller abandoned says nothing about the provider; if it was the probe, the next request becomes the probe.
 */
const transitions = {
  closed: { succeeded: 'closed', failed: 'closed', tripped: 'open', cooled: 'closed' },
  open: { succeeded: 'open', failed: 'open', tripped: 'open', cooled: 'half_open' },
  half_open: { succeeded: 'closed', failed: 'open', tripped: 'open', cooled: 'half_open' },
} as const satisfies Record<string, Record<string, string>>

export type BreakerState = keyof typeof transitions
export const breakerStates = Object.keys(transitions) as readonly BreakerState[]
type BreakerEvent = keyof (typeof transitions)[BreakerState]

export interface CircuitBreakerOptions {
  /** Failures in a row that open it. */
  readonly failuresMax: number
  readonly cooldownMs: number
  readonly now?: () => number
}

/** Permission for one request. Call exactly one of the methods when the request has ended. */
export interface Permit {
  succeeded(): void
  failed(): void
  abandoned(): void
}

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  readonly #now: () => number
  #state: BreakerState = 'closed'
  /** Grows with each change of state. The outcome of a permit from an earlier period is ignored. */
  #period = 0
  #failuresInRow = 0
  #openUntilMs = 0
  #probing = false

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  get state(): BreakerState {
    if (this.#state === 'open' && this.#now() >= this.#openUntilMs) this.#apply('cooled')
    return this.#state
  }

  /** Milliseconds until a request may be admitted; 0 if the breaker is no longer open. */
  get waitMs(): number {
    return this.state === 'open' ? this.#openUntilMs - this.#now() : 0
  }

  /** Returns `null` if the request must not be made. */
  admit(): Permit | null {
    const state = this.state
    if (state === 'open' || (state === 'half_open' && this.#probing)) return null
    if (state === 'half_open') this.#probing = true
    const period = this.#period
    let ended = false
    const end = (report: () => void) => (): void => {
      if (ended || period !== this.#period) return
      ended = true
      report()
    }
    return {
      succeeded: end(() => this.#apply('succeeded')),
      failed: end(() => this.#apply(this.#failuresInRow + 1 >= this.#options.failuresMax ? 'tripped' : 'failed')),
      abandoned: end(() => {
        this.#probing = false
      }),
    }
  }

  #apply(event: BreakerEvent): void {
    this.#failuresInRow = event === 'failed' || event === 'tripped' ? this.#failuresInRow + 1 : 0
    const next = transitions[this.#state][event]
    if (next === this.#state) return
    this.#state = next
    this.#period++
    this.#failuresInRow = 0
    this.#probing = false
    if (next === 'open') this.#openUntilMs = this.#now() + this.#options.cooldownMs
  }
}
