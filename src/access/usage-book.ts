import { isStorageFull } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import { secondsToNextUtcDay, utcDay } from '../platform/time.ts'
import type { AccessStore, QuotaResult, QuotaTake, UsageCount } from './access-store.ts'
import type { Operation } from './operations.ts'
import { dailyLimitOf } from './policy-limits.ts'
import type { Consumer } from './principal.ts'

/**
 * After a quiet time, counts and key uses are written within a second. Otherwise they are written ten seconds after the
 * previous write, because each write makes the readers of an SQLite file drop their memory map, which slows the next
 * searches.
 */
const checkEveryMs = 1000
const checksSkipped = 9

/** The TTL of counts that were read from the store. */
const storedKeptMs = 1000
const readAttemptsMax = 3

type Counted = UsageCount & { count: number }

export type QuotaDecision =
  | { readonly taken: true; readonly limit: number | null; readonly used: number | null }
  | { readonly taken: false; readonly limit: number; readonly retryAfterSeconds: number }

/**
 * Counts the use of applications. If a policy sets a daily limit, the unit is taken in the store before the work, so
 * that the limit is exact with any number of processes. Takes that arrive during a write share the next transaction
 * (group commit). A count without a limit is only reported, and is written at most every ten seconds.
 *
 * While the disk of the store is full, units are counted in memory and written when there is space. With one process,
 * the limit stays exact. With several, each may grant all remaining units.
 */
export class UsageBook {
  #store: AccessStore
  /** By application and day, then by operation. */
  #counts = new Map<string, Map<string, Counted>>()
  /** Counts read from the store, by application and day. An entry is dropped at the next write, or after its TTL. */
  #stored = new Map<string, { readonly readAt: number; readonly use: Readonly<Record<string, number>> }>()
  /** The number of writes. A result that was read during a write is not cached. */
  #writes = 0
  #keyUses = new Map<string, number>()
  #waiting: { take: QuotaTake; resolve: (result: QuotaResult) => void; reject: (error: unknown) => void }[] = []
  #isTaking = false
  /** Whether quota units were taken in memory and not written yet. */
  #hasUnwrittenUnits = false
  #timer: NodeJS.Timeout
  #flushing: Promise<void> = Promise.resolve()
  #checksToSkip = 0
  #incidents: Incidents

  constructor(store: AccessStore, incidents: Incidents) {
    this.#store = store
    this.#incidents = incidents
    this.#timer = setInterval(() => {
      if (this.#checksToSkip > 0) this.#checksToSkip--
      else void this.flush()
    }, checkEveryMs)
    this.#timer.unref()
  }

  recordKeyUse(keyId: string, nowMs: number): void {
    this.#keyUses.set(keyId, nowMs)
  }

  /** Counts a use that has no limit. */
  count(applicationId: string, operation: Operation, nowMs: number): void {
    this.#count({ applicationId, operation, day: utcDay(nowMs), count: 1 })
  }

  /** Takes one unit of the operation's daily quota, or only counts the use if there is no limit. */
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
   * Returns today's use by operation. The counts of this process are exact; those of others are about ten seconds old.
   * Reading the store each time would dominate the cost of GET /v1/account.
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
        // The read overlapped a write, so its result may lack the counts of that write.
        else if (attempt < readAttemptsMax) continue
      }
      const use = { ...stored.use }
      for (const { operation, count } of this.#counts.get(name)?.values() ?? []) {
        use[operation] = (use[operation] ?? 0) + count
      }
      return use
    }
  }

  /** Writes counts and key uses. Those that cannot be written are kept for the next flush. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      if (this.#counts.size === 0 && this.#keyUses.size === 0) return
      const counts = [...this.#counts.values()].flatMap((operations) => [...operations.values()])
      const keys = [...this.#keyUses].map(([keyId, at]) => ({ keyId, at }))
      this.#counts = new Map()
      this.#keyUses = new Map()
      const hadUnwrittenUnits = this.#hasUnwrittenUnits
      this.#hasUnwrittenUnits = false
      this.#forgetStored()
      try {
        await this.#store.recordUse({ counts, keys })
        this.#checksToSkip = checksSkipped
        this.#incidents.worked('usage')
      } catch (error) {
        for (const count of counts) this.#count(count)
        this.#hasUnwrittenUnits ||= hadUnwrittenUnits
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
    this.#hasUnwrittenUnits = true
    return { taken: true, used: used + 1 }
  }

  async #takeWaiting(): Promise<void> {
    this.#isTaking = true
    while (this.#waiting.length > 0) {
      // Units that are not in the store yet must not be granted again.
      if (this.#hasUnwrittenUnits) await this.flush()
      const group = this.#waiting
      this.#waiting = []
      try {
        const results = await this.#store.takeQuota(group.map(({ take }) => take))
        this.#forgetStored()
        for (const [i, { resolve }] of group.entries()) resolve(results[i]!)
      } catch (error) {
        if (isStorageFull(error)) this.#incidents.failed('usage', error)
        // One after the other, so that each sees the units taken before it.
        for (const { take, resolve, reject } of group) {
          if (isStorageFull(error)) await this.#takeUnwritten(take).then(resolve, reject)
          else reject(error)
        }
      }
    }
    this.#isTaking = false
  }
}
