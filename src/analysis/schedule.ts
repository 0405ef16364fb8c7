/**
 * When a subscription starts a run, if the policy of its application has `analysis.scheduling`.
 *
 *   first        at once, over the existing content
 *   scheduled    at whole intervals from its creation. Intervals that pass while a run is in progress, the subscription
 *                is paused or no worker runs become one run
 *   on_change    when the feed has had changes in its scope and then been quiet for a while, or when changes have gone
 *                on for too long. A run that failed, or that was computed while vectors of its scope were missing, is
 *                retried with exponential backoff
 *   hybrid       whichever is first
 *
 * A subscription has at most one run in progress. Every run covers everything up to its start, so one start covers all
 * earlier changes.
 */
import { dayMs } from '../platform/time.ts'
import type { ScopeChanges, WaitingSubscription } from './subscription-store.ts'

export const schedule = {
  /** A run starts after the feed has been quiet for this long. By then, most vectors of the changes exist. */
  settledAfterMs: 30_000,
  /** If the feed is never quiet for that long, a run starts this often. */
  waitsAtMostMs: 300_000,
  /** The pause after the first unsuccessful run. It doubles each time, up to `pauseMaxMs`. */
  pauseMs: 60_000,
  pauseMaxMs: 3_600_000,
  /** The interval of a subscription that sets none. */
  intervalMs: dayMs,
} as const

/** Returns the time from which the next run is due; Infinity while there is no reason for one. */
export function dueAt(waiting: WaitingSubscription, changes: ScopeChanges | null): number {
  const { subscription, last, tries } = waiting
  if (last === null) return -Infinity
  const { executionMode, intervalSeconds, createdAt } = subscription
  const intervalMs = intervalSeconds === null ? schedule.intervalMs : intervalSeconds * 1000
  // A subscription created during a check can be newer than the start time of its first run.
  const intervals = Math.max(0, Math.floor((last.startedAt - createdAt) / intervalMs)) + 1
  const byInterval = executionMode === 'on_change' ? Infinity : createdAt + intervals * intervalMs
  if (executionMode === 'scheduled') return byInterval
  if (!last.isComplete) return Math.min(byInterval, last.endedAt + pauseAfter(tries))
  if (changes === null) return byInterval
  const settled = Math.min(changes.lastAt + schedule.settledAfterMs, changes.firstAt + schedule.waitsAtMostMs)
  return Math.min(byInterval, settled)
}

/** `tries` is the number of runs started since the last success. */
const pauseAfter = (tries: number): number =>
  Math.min(schedule.pauseMaxMs, schedule.pauseMs * 2 ** Math.min(20, Math.max(0, tries - 1)))
