import type { Caller } from '../fair-queue/caller.ts'
import { Callers } from '../fair-queue/callers.ts'
import type { FairSlots } from '../fair-queue/fair-slots.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import { UnavailableError } from '../platform/errors.ts'
import { causeOf } from './degradations.ts'
import { searchLimits as limits } from './limits.ts'
import type { CountedIndex, ValuesPage, ValuesRequest } from './search-index.ts'

export interface ValuesParts {
  readonly index: CountedIndex
  /** The fair queue of searches, which use the same cores. */
  readonly slots: FairSlots
  readonly isRefilling: () => boolean
  readonly isBehind: () => boolean
}

/**
 * Lists values in a fair-queue slot. Rejects with an `UnavailableError` if the index cannot answer or is incomplete,
 * because a reader could not tell that the counts are too low.
 */
export async function listValues(
  { index, slots, isRefilling, isBehind }: ValuesParts,
  request: Omit<ValuesRequest, 'timeoutMs'>,
  caller: Caller,
): Promise<ValuesPage> {
  if (isRefilling() || isBehind()) throw new UnavailableError('the index does not have all documents yet')
  const until = Date.now() + limits.keywordWaitMs
  const release = await withDeadline(limits.keywordWaitMs, caller.signal, (signal) =>
    slots.take(new Callers(caller.id), signal),
  )
  try {
    caller.signal.throwIfAborted()
    const timeoutMs = until - Date.now()
    const outcome = timeoutMs <= 0 ? ({ outcome: 'timed_out' } as const) : await index.values({ ...request, timeoutMs })
    if (outcome.outcome !== 'found') throw causeOf(outcome, limits.keywordWaitMs)
    return outcome
  } finally {
    release?.()
  }
}
