import { Callers } from '../fair-queue/callers.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import type { RunningSearch } from './running-search.ts'

/**
 * Runs `work` in a fair-queue slot, because callers share the cores for index, store and ranking. If the deadline
 * passes before a slot is free, `hasSlot` is false, and the branches report a timeout.
 */
export async function inSlot<T>(
  { caller, vectors, keywordDeadline, deadlines, slots, time }: RunningSearch,
  work: (hasSlot: boolean) => Promise<T>,
): Promise<T> {
  const until = vectors.found.length > 0 ? Math.max(keywordDeadline, deadlines.vectors) : keywordDeadline
  const wait = (signal: AbortSignal) => slots.take(new Callers(caller.id), signal)
  const take = () => slots.takeNow(caller.id) ?? withDeadline(until - Date.now(), caller.signal, wait)
  const release = await time.spend('queue', take)
  try {
    caller.signal.throwIfAborted()
    return await work(release !== null)
  } finally {
    release?.()
  }
}
