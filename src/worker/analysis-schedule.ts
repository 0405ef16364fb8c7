import { DueRuns, type SchedulingParts } from '../analysis/due-runs.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

/** The shortest schedule is a minute, and an `on_change` run starts after 30 s without a change. */
const pauses = { everyMs: 1000, whenIdleMs: 2000 }

/** Starts the due runs of subscriptions. Every process that executes runs does this; the store starts each run once. */
export function startScheduling(
  parts: SchedulingParts,
  incidents: Incidents,
  notifications: WriteNotifications | null = null,
): Repeating {
  const dueRuns = new DueRuns(parts)
  return repeat(
    'analysis-schedule',
    { ...pauses, notifications },
    async () => ((await dueRuns.start()) ? pauses.whenIdleMs : false),
    incidents,
  )
}
