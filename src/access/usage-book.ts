import { isStorageFull } from '../errors.ts'
import type { Incidents } from '../incidents.ts'
import { secondsToNextUtcDay, utcDay } from '../time.ts'
import type { AccessStore, QuotaResult, QuotaTake, UsageCount } from './access-store.ts'
import type { Operation } from './operations.ts'
import { dailyLimitOf } from './policy-limits.ts'
import type { Consumer } from './principal.ts'

/**
 * Counts without a limit and key uses are written within a second, and the next ones ten seconds later: with every write the
 * readers of an SQLite file give back what they have of it as memory, which is a fifth of what a hybrid search costs them
 * among a million chunks.
 */
const lookEveryMs = 1000
const looksOfRest = 9

/** How old what the store said may be when it is reported. */
const storedKeptMs = 1000
const readAttemptsMax = 3

type Counted = UsageCount & { count: number }

export type QuotaDecision =
  | { readonly taken: true; readonly limit: number | null; readonly used: number | null }
  | { readonly taken: false; readonly limit: number; readonly retryAfterSeconds: number }

/**
 * Counts what applications do. Where a policy sets a daily limit, the unit is taken in the store before the work, so
 * that the limit is exact however many processes race; takes that arrive while one is being written share the next
 * transaction. Without a limit the count is only for reporting and is written every ten seconds.
 *
 * While the store has no room for a write, which is no reason to refuse a reader, units are taken by what is known here
 * and written when there is room: exact for one process, for several each may give out what is left.
 */
export class UsageBook {
  #store: AccessStore
  /** By application and day, then by operation. */
  #counts = new Map<string, Map<string, Counted>>()
  /** What the store said last, by application and day; forgotten when anything is written there, and after a second. */
  #stored = new Map<string, { readonly readAt: number; readonly use: Readonly<Record<string, number>> }>()
  /** Counts writes, so that what was read across one is not remembered. */
  #writes = 0
  #keyUses = new Map<string, number>()
  #waiting: { take: QuotaTake; resolve: (result: QuotaResult) => void; reject: (error: unknown) => void }[] = []
  #isTaking = false
  /** Units were taken that could not be written. */
  #owesUnits = false
  #timer: NodeJS.Timeout
  #flushing: Promise<void> = Promise.resolve()
  #rest = 0
  #incidents: Incidents

  constructor(store: AccessStore, incidents: Incidents) {
    this.#store = store
    this.#incidents = incidents
    this.#timer = setInterval(() => {
      if (this.#rest > 0) this.#rest--
      else void this.flush()
    }, lookEveryMs)
    this.#timer.unref()
  }

  recordKeyUse(keyId: string, nowMs: number): void {
    this.#keyUses.set(keyId, nowMs)
  }

  /** Counts what has no limit. */
  count(applicationId: string, operation: Operation, nowMs: number): void {
    this.#count({ applicationId, operation, day: utcDay(nowMs), count: 1 })
  }

  /** Takes one unit of the operation's daily quota, or counts it where there is no limit. */
  async take(consumer: Consumer, operation: Operation, nowMs: number): Promise<QuotaDecision> {
    const limit = dailyLimitOf(consumer.policy, operation)
    const day = utcDay(nowMs)
    const { applicationId } = consumer
    if (limit === null) {
      this.#count({ applicationId, operation, day, count: 1 })
      return { taken: true, limit, used: null }
    }
    const result = await this.#takeUnit({ applicationId, operation, day, limit })
    return result.taken
      ? { taken: true, limit, used: result.used }
      : { taken: false, limit, retryAfterSeconds: secondsToNextUtcDay(nowMs) }
  }

  /**
   * Today's use per operation: what this process counted is exact, what others counted some ten seconds old. Asking the
   * store each time would make it the dearest part of a GET /v1/account by far.
   */
  today(applicationId: string, nowMs: number): Promise<Record<string, number>> {
    return this.#usedOn(applicationId, utcDay(nowMs), nowMs)
  }

  async #usedOn(applicationId: string, day: string, nowMs: number): Promise<Record<string, number>> {
    const name = `${applicationId} ${day}`
    for (let attempt = 1; ; attempt++) {
      let stored = this.#stored.get(name)
      if (stored === undefined || nowMs - stored.readAt > storedKeptMs) {
        await this.#flushing
        const writes = this.#writes
        const rows = await this.#store.usageOf(applicationId, day)
        stored = { readAt: nowMs, use: Object.fromEntries(rows.map(({ operation, used }) => [operation, used])) }
        if (writes === this.#writes) this.#stored.set(name, stored)
        // Read across a write: it may hold the counts that were on their way, or not.
        else if (attempt < readAttemptsMax) continue
      }
      const use = { ...stored.use }
      for (const { operation, count } of this.#counts.get(name)?.values() ?? []) {
        use[operation] = (use[operation] ?? 0) + count
      }
      return use
    }
  }

  /** What could not be written is kept for the next time. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      if (this.#counts.size === 0 && this.#keyUses.size === 0) return
      const counts = [...this.#counts.values()].flatMap((operations) => [...operations.values()])
      const keys = [...this.#keyUses].map(([keyId, at]) => ({ keyId, at }))
      this.#counts = new Map()
      this.#keyUses = new Map()
      const owedUnits = this.#owesUnits
      this.#owesUnits = false
      this.#forgetStored()
      try {
        await this.#store.recordUse({ counts, keys })
        this.#rest = looksOfRest
        this.#incidents.worked('usage')
      } catch (error) {
        for (const count of counts) this.#count(count)
        this.#owesUnits ||= owedUnits
        for (const { keyId, at } of keys) if (!this.#keyUses.has(keyId)) this.#keyUses.set(keyId, at)
        this.#incidents.failed('usage', error)
      }
    })
    return this.#flushing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  #count(use: Counted): void {
    const name = `${use.applicationId} ${use.day}`
    let operations = this.#counts.get(name)
    if (operations === undefined) {
      operations = new Map()
      this.#counts.set(name, operations)
    }
    const counted = operations.get(use.operation)
    if (counted === undefined) operations.set(use.operation, use)
    else counted.count += use.count
  }

  #forgetStored(): void {
    this.#writes++
    this.#stored.clear()
  }

  #takeUnit(take: QuotaTake): Promise<QuotaResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ take, resolve, reject })
      if (!this.#isTaking) void this.#takeWaiting()
    })
  }

  async #takeUnwritten({ applicationId, operation, day, limit }: QuotaTake): Promise<QuotaResult> {
    const used = (await this.#usedOn(applicationId, day, Date.now()))[operation] ?? 0
    if (used >= limit) return { taken: false, used }
    this.#count({ applicationId, operation, day, count: 1 })
    this.#owesUnits = true
    return { taken: true, used: used + 1 }
  }

  async #takeWaiting(): Promise<void> {
    this.#isTaking = true
    while (this.#waiting.length > 0) {
      // What the store does not know yet must not be given out again.
      if (this.#owesUnits) await this.flush()
      const group = this.#waiting
      this.#waiting = []
      try {
        const results = await this.#store.takeQuota(group.map(({ take }) => take))
        this.#forgetStored()
        for (const [i, { resolve }] of group.entries()) resolve(results[i]!)
      } catch (error) {
        if (isStorageFull(error)) this.#incidents.failed('usage', error)
        // One after the other, so that each sees what the one before has taken.
        for (const { take, resolve, reject } of group) {
          if (isStorageFull(error)) await this.#takeUnwritten(take).then(resolve, reject)
          else reject(error)
        }
      }
    }
    this.#isTaking = false
  }
}
