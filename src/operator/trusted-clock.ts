import type { Log } from '../platform/log.ts'
import { dayMs, formatTime } from '../platform/time.ts'
import type { ClockStore } from './clock-store.ts'
import { type Finding, failure, warning } from './examine.ts'

/**
 * An instance that is off for a long weekend must continue by itself. A clock that is wrong by less removes data too
 * early by the same time. Accidental errors (an empty battery, a typing error) are usually years.
 */
const aheadMaxDays = 3
const aheadMaxMs = aheadMaxDays * dayMs

/** The trusted time is at most this old when a jump is detected; an idle store is not written more often. */
const believedEveryMs = 3_600_000

/** How soon a stopped job checks whether it may continue. */
export const askAgainMs = 5000

/**
 * Guards removal by age. It stops if the clock is far ahead of the time when such jobs last ran. An operator must then
 * confirm the clock.
 */
export class TrustedClock {
  readonly #store: Pick<ClockStore, 'believedUntil' | 'newestTime' | 'believe'>
  readonly #now: () => number
  readonly #logger: Log
  #trouble: string | null = null
  /** The clock went far back from a trusted time. */
  #behind: { readonly before: number; readonly believed: number } | null = null
  #isTrusted = true

  constructor(store: Pick<ClockStore, 'believedUntil' | 'newestTime' | 'believe'>, now: () => number, logger: Log) {
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
    const kept = await this.#store.believedUntil()
    const believed = kept ?? (await this.#store.newestTime()) ?? now
    const isTrusted = now - believed <= aheadMaxMs
    // A clock that went far back gives new documents times in the past. After it is set right, they must not count as
    // old before an operator has confirmed the clock: until then it is only trusted up to the time that it went back
    // to.
    const wentBack = believed - now > aheadMaxMs
    if (wentBack) this.#behind = { before: believed, believed: now }
    else if (kept !== this.#behind?.believed || !isTrusted) this.#behind = null
    if (wentBack || (isTrusted && (kept === null || now - kept >= believedEveryMs))) {
      await this.#store.believe(now)
      if (this.#behind !== null) this.#behind = { ...this.#behind, believed: now }
    }
    if (isTrusted !== this.#isTrusted) this.#tell(isTrusted, now, believed)
    this.#isTrusted = isTrusted
    this.#trouble = clockInWords(now, this.#behind?.before ?? believed)
    return isTrusted
  }

  #tell(isTrusted: boolean, now: number, believed: number): void {
    const times = { clock: formatTime(now), believed: formatTime(believed) }
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
    (await clock.trusts()) ? work() : askAgainMs

function clockInWords(now: number, believed: number): string | null {
  const days = `${Math.floor(Math.abs(now - believed) / dayMs)} days`
  if (now - believed > aheadMaxMs) {
    return `the clock (${formatTime(now)}) is ${days} ahead of the time when this instance last removed old data: nothing is removed until it is corrected, or confirmed with tidemark clock confirm`
  }
  if (believed - now > aheadMaxMs) {
    return `the clock (${formatTime(now)}) is ${days} behind the last trusted time: correct it, then run tidemark clock confirm`
  }
  return null
}

export async function examineClock(store: ClockStore, now: number): Promise<readonly Finding[]> {
  const believed = (await store.believedUntil()) ?? (await store.newestTime()) ?? now
  const trouble = clockInWords(now, believed)
  if (trouble === null) return []
  const advice = 'compare `date` with a correct clock; if this one is right, run tidemark clock confirm'
  return [(now > believed ? failure : warning)(trouble, advice)]
}
