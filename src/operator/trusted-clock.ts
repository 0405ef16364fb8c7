import type { Log } from '../platform/log.ts'
import { dayMs, formatTime } from '../platform/time.ts'
import type { ClockStore } from './clock-store.ts'
import { type Finding, failure, warning } from './examine.ts'

/**
 * The largest jump of the clock that no operator has to confirm. An instance that was off for a long weekend must
 * continue by itself. A clock that is ahead by less removes data too early by at most this time. Accidental errors (an
 * empty battery, a typing error) are usually years.
 */
const aheadMaxDays = 3
const aheadMaxMs = aheadMaxDays * dayMs

/** How often the trusted time is stored. It is at most this old when a jump is detected. */
const storeEveryMs = 3_600_000

/** How soon a stopped job checks whether it may continue. */
export const clockRecheckMs = 5000

/**
 * Guards removal by age. It stops if the clock is far ahead of the time when such jobs last ran. An operator must then
 * confirm the clock.
 */
export class TrustedClock {
  readonly #store: Pick<ClockStore, 'trustedUntil' | 'newestTime' | 'trust'>
  readonly #now: () => number
  readonly #logger: Log
  #trouble: string | null = null
  /** Set if the clock went far back from a trusted time. */
  #behind: { readonly before: number; readonly trusted: number } | null = null
  #isTrusted = true

  constructor(store: Pick<ClockStore, 'trustedUntil' | 'newestTime' | 'trust'>, now: () => number, logger: Log) {
    this.#store = store
    this.#now = now
    this.#logger = logger
  }

  /** A text for operators; null while the clock is trusted. */
  get trouble(): string | null {
    return this.#trouble
  }

  get isTrusted(): boolean {
    return this.#isTrusted
  }

  async trusts(): Promise<boolean> {
    const now = this.#now()
    const kept = await this.#store.trustedUntil()
    const trusted = kept ?? (await this.#store.newestTime()) ?? now
    const isTrusted = now - trusted <= aheadMaxMs
    // A clock that went far back gives new documents times in the past. After it is corrected, those documents must not
    // be removed as old before an operator has confirmed the clock. Until then it is trusted only up to the time that
    // it went back to.
    const wentBack = trusted - now > aheadMaxMs
    if (wentBack) this.#behind = { before: trusted, trusted: now }
    else if (kept !== this.#behind?.trusted || !isTrusted) this.#behind = null
    if (wentBack || (isTrusted && (kept === null || now - kept >= storeEveryMs))) {
      await this.#store.trust(now)
      if (this.#behind !== null) this.#behind = { ...this.#behind, trusted: now }
    }
    if (isTrusted !== this.#isTrusted) this.#log(isTrusted, now, trusted)
    this.#isTrusted = isTrusted
    this.#trouble = clockInWords(now, this.#behind?.before ?? trusted)
    return isTrusted
  }

  #log(isTrusted: boolean, now: number, trusted: number): void {
    const times = { clock: formatTime(now), believed: formatTime(trusted) }
    if (isTrusted) this.#logger.info(times, 'the clock is trusted again: removal of old data continues')
    else {
      this.#logger.error(
        times,
        'the clock is far ahead of the time when this instance last removed old data: nothing is removed until the clock is corrected, or confirmed with tidemark clock confirm',
      )
    }
  }
}

/** A job that removes old data. It waits while the clock is not trusted. */
export const whileTrusted =
  (clock: Pick<TrustedClock, 'trusts'>, work: () => Promise<boolean>): (() => Promise<boolean | number>) =>
  async () =>
    (await clock.trusts()) ? work() : clockRecheckMs

function clockInWords(now: number, trusted: number): string | null {
  const days = `${Math.floor(Math.abs(now - trusted) / dayMs)} days`
  if (now - trusted > aheadMaxMs) {
    return `the clock (${formatTime(now)}) is ${days} ahead of the time when this instance last removed old data: nothing is removed until it is corrected, or confirmed with tidemark clock confirm`
  }
  if (trusted - now > aheadMaxMs) {
    return `the clock (${formatTime(now)}) is ${days} behind the last trusted time: correct it, then run tidemark clock confirm`
  }
  return null
}

export async function examineClock(store: ClockStore, now: number): Promise<readonly Finding[]> {
  const trusted = (await store.trustedUntil()) ?? (await store.newestTime()) ?? now
  const trouble = clockInWords(now, trusted)
  if (trouble === null) return []
  const advice = 'compare `date` with a correct clock; if this one is right, run tidemark clock confirm'
  return [(now > trusted ? failure : warning)(trouble, advice)]
}
