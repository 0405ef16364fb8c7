import { Callers } from '../fair-queue/callers.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import type { RunningSearch } from './running-search.ts'

/**
 * Runs `work` in a fair-queue slot: callers share the cores for index, store and ranking. If the deadline passes while
 * the search waits for a slot, `hasSlot` is false, and its branches report a timeout.
 */
export async function inSlot<T>(
  { caller, vectors, wordsUntil, deadlines, turns, time }: RunningSearch,
  work: (hasSlot: boolean) => Promise<T>,
): Promise<T> {
  const until = vectors.found.length > 0 ? Math.max(wordsUntil, deadlines.vectors) : wordsUntil
  const wait = (signal: AbortSignal) => turns.take(new Callers(caller.id), signal)
  const take = () => turns.takeNow(caller.id) ?? withDeadline(until - Date.now(), caller.signal, wait)
  const release = await time.spend('queue', take)
  try {
    caller.signal.throwIfAborted()
    return await work(release !== null)
  } finally {
    release?.()
  }
}
