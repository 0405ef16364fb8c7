import type { ChangeLog } from '../changes/change-log.ts'
import { retentionDays } from '../changes/read-changes.ts'
import type { Incidents } from '../incidents.ts'
import { dayMs } from '../time.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Small enough that a writer never waits noticeably behind one portion. */
const portion = 1000
const everyMs = 10 * 60_000

/** Removes events that are older than the feed promises to keep, a small portion at a time. */
export function startFeedRetention(log: ChangeLog, incidents: Incidents): Repeating {
  return repeat(
    'feed-retention',
    everyMs,
    async () => (await log.removeBefore(Date.now() - retentionDays * dayMs, portion)) === portion,
    incidents,
  )
}
