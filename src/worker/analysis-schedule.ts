import { DueRuns, type SchedulingParts } from '../analysis/due-runs.ts'
import type { Incidents } from '../incidents.ts'
import type { WriteNews } from '../write-news.ts'
import { type Repeating, repeat } from './repeating.ts'

/** The shortest interval is a minute, and what has changed waits half of one to settle. */
const pauses = { everyMs: 1000, whenIdleMs: 2000 }

/** Starts runs of subscriptions when they are due. Every process that executes runs does it; the store starts each once. */
export function startScheduling(
  parts: SchedulingParts,
  incidents: Incidents,
  news: WriteNews | null = null,
): Repeating {
  const dueRuns = new DueRuns(parts)
  return repeat(
    'analysis-schedule',
    { ...pauses, news },
    async () => ((await dueRuns.start()) ? pauses.whenIdleMs : false),
    incidents,
  )
}
