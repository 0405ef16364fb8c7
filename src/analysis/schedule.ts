/**
 * When a subscription starts a run, of an application whose policy has `analysis.scheduling`.
 *
 *   first        at once: what is there already is what later runs are compared with
 *   scheduled    at whole intervals from its creation. Intervals that went by while a run was under way, the subscription
 *                paused or no worker alive are one run, not one each
 *   on_change    when the feed has moved within its scope and then been quiet for a while, or has moved for so long that
 *                waiting on would not be bounded. After a run that did not succeed, or that was computed while vectors of
 *                its scope were still to be made, after a pause that grows: no change is missed for ever
 *   hybrid       whichever is first
 *
 * One run of a subscription is under way at a time. Every run is of everything up to its start, so one start answers for
 * all that came before.
 */
import { dayMs } from '../time.ts'
import type { ScopeChanges, WaitingSubscription } from './subscription-store.ts'

export const schedule = {
  /** What comes in one go is one change, and its vectors are mostly made by then. */
  settledAfterMs: 30_000,
  /** A feed that never is quiet for so long gives a run as often as this. */
  waitsAtMostMs: 300_000,
  /** After the first run without success, then twice as long each time. */
  pauseMs: 60_000,
  pauseMaxMs: 3_600_000,
  /** Of a subscription that says none. */
  intervalMs: dayMs,
} as const

/** The time from which the next run is due; Infinity while nothing calls for one. */
export function dueAt(waiting: WaitingSubscription, changes: ScopeChanges | null): number {
  const { subscription, last, tries } = waiting
  if (last === null) return -Infinity
  const { executionMode, intervalSeconds, createdAt } = subscription
  const intervalMs = intervalSeconds === null ? schedule.intervalMs : intervalSeconds * 1000
  // The first run may bear an earlier time than its subscription, which came while subscriptions were looked at.
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
