/**
 * When a subscription starts a run, if the policy of its application has `analysis.scheduling`.
 *
 *   first        at once: later runs are compared with the existing content
 *   scheduled    at whole intervals from its creation. Intervals that pass while a run is in progress, the subscription is
 *                paused or no worker is alive become one run
 *   on_change    when the feed has had changes in its scope and then been quiet for a while, or has had changes for so long
 *                that waiting must end. After a run that failed, or that was computed while vectors of its scope were
 *                missing, after a growing pause: no change is missed forever
 *   hybrid       whichever is first
 *
 * A subscription has at most one run in progress. Every run covers everything up to its start, so one start covers all
 * earlier changes.
 */
import { dayMs } from '../platform/time.ts'
import type { ScopeChanges, WaitingSubscription } from './subscription-store.ts'

export const schedule = {
  /** A burst of changes counts as one, and most of its vectors exist by then. */
  settledAfterMs: 30_000,
  /** A feed that is never quiet for that long starts a run this often. */
  waitsAtMostMs: 300_000,
  /** After the first unsuccessful run, then twice as long each time. */
  pauseMs: 60_000,
  pauseMaxMs: 3_600_000,
  /** The interval of a subscription that sets none. */
  intervalMs: dayMs,
} as const

/** The time from which the next run is due; Infinity while there is no reason for one. */
export function dueAt(waiting: WaitingSubscription, changes: ScopeChanges | null): number {
  const { subscription, last, tries } = waiting
  if (last === null) return -Infinity
  const { executionMode, intervalSeconds, createdAt } = subscription
  const intervalMs = intervalSeconds === null ? schedule.intervalMs : intervalSeconds * 1000
  // The first run may have an earlier time than its subscription, which was created while subscriptions were being
  // checked.
  const intervals = Math.max(0, Math.floor((last.startedAt - createdAt) / intervalMs)) + 1
  const byInterval = executionMode === 'on_change' ? Infinity : createdAt + intervals * intervalMs
  if (executionMode === 'scheduled') return byInterval
  if (!last.isComplete) return Math.min(byInterval, last.endedAt + pauseAfter(tries))
  if (changes === null) return byInterval
  const settled = Math.min(changes.lastAt + schedule.settledAfterMs, changes.firstAt + schedule.waitsAtMostMs)
  return Math.min(byInterval, settled)
}

/** `tries` runs have been started since the last success. */
const pauseAfter = (tries: number): number =>
  Math.min(schedule.pauseMaxMs, schedule.pauseMs * 2 ** Math.min(20, Math.max(0, tries - 1)))
