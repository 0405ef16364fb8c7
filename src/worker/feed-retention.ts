import type { ChangeLog } from '../changes/change-log.ts'
import { retentionDays } from '../changes/read-changes.ts'
import { type TrustedClock, whileTrusted } from '../operator/trusted-clock.ts'
import type { Incidents } from '../platform/incidents.ts'
import { dayMs } from '../platform/time.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Small enough that a writer never waits noticeably for one portion. */
const portion = 1000
const everyMs = 10 * 60_000

/** Removes events that are older than the feed's retention, a small portion at a time. */
export function startFeedRetention(
  log: ChangeLog,
  clock: Pick<TrustedClock, 'trusts'>,
  incidents: Incidents,
): Repeating {
  return repeat(
    'feed-retention',
    everyMs,
    whileTrusted(clock, async () => (await log.removeBefore(Date.now() - retentionDays * dayMs, portion)) === portion),
    incidents,
  )
}
