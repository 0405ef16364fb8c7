import { claimKeptMs } from '../access/claim.ts'
import { liveLimits } from '../live/limits.ts'
import type { LiveStore } from '../live/live-store.ts'
import { clockRecheckMs, type TrustedClock } from '../operator/trusted-clock.ts'
import type { Incidents } from '../platform/incidents.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

/** A missed deadline is stored within this time. Reading a state does not depend on it. */
const everyMs = 1000
const pauses = { everyMs, whenIdleMs: everyMs }
const portion = 200
const forgetEveryMs = 10 * 60_000

/**
 * Stores expired deadlines and leases, and removes old live queries and all old idempotency keys. Any number of
 * processes may do so at once.
 */
export function startLive(
  store: LiveStore,
  clock: Pick<TrustedClock, 'trusts'>,
  incidents: Incidents,
  notifications: WriteNotifications | null = null,
  tracer: Tracer = untraced,
): Repeating {
  let forgetAt = 0
  return repeat(
    'live',
    { ...pauses, notifications },
    async () => {
      const now = Date.now()
      const dueAt = await store.dueAt()
      const settle = () => tracer.span('live settle', () => store.settle(now, portion))
      const settled = dueAt !== null && dueAt <= now ? await settle() : 0
      let forgotten = 0
      if (now >= forgetAt && !(await clock.trusts())) forgetAt = now + clockRecheckMs
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
