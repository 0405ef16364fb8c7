import { claimKeptMs } from '../access/claim.ts'
import type { Incidents } from '../incidents.ts'
import { liveLimits } from '../live/limits.ts'
import type { LiveStore } from '../live/live-store.ts'
import type { WriteNews } from '../write-news.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Often enough that a deadline shows in the store within a second; reading a state never waits for this. */
const everyMs = 1000
const pauses = { everyMs, whenIdleMs: everyMs }
const portion = 200
const forgetEveryMs = 10 * 60_000

/** Writes down deadlines and leases that ran out, and forgets old live queries and the idempotency keys of everything. Any number may run at once. */
export function startLive(store: LiveStore, incidents: Incidents, news: WriteNews | null = null): Repeating {
  let forgetAt = 0
  return repeat(
    'live',
    { ...pauses, news },
    async () => {
      const now = Date.now()
      const dueAt = await store.dueAt()
      const settled = dueAt !== null && dueAt <= now ? await store.settle(now, portion) : 0
      let forgotten = 0
      if (now >= forgetAt) {
        forgotten = await store.forget(now - claimKeptMs, now - liveLimits.queriesKeptMs, portion)
        if (forgotten === 0) forgetAt = now + forgetEveryMs
      }
      if (settled === portion || forgotten > 0) return true
      return dueAt === null ? false : Math.max(dueAt - now, everyMs)
    },
    incidents,
  )
}
