import type { Caller } from '../fair-queue/caller.ts'
import { Callers } from '../fair-queue/callers.ts'
import type { FairSlots } from '../fair-queue/fair-slots.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import { UnavailableError } from '../platform/errors.ts'
import { searchLimits as limits } from './limits.ts'
import type { CountedIndex, ValuesPage, ValuesRequest } from './search-index.ts'
import { causeOf } from './shortfall.ts'

export interface ValuesParts {
  readonly index: CountedIndex
  /** The fair queue of searches, because both use the same cores. */
  readonly turns: FairSlots
  readonly isRefilling: () => boolean
  readonly isBehind: () => boolean
}

/**
 * Rejects with an `UnavailableError` if the index cannot answer or lacks documents: counts that are too low look
 * correct.
 */
export async function listValues(
  { index, turns, isRefilling, isBehind }: ValuesParts,
  asked: Omit<ValuesRequest, 'timeoutMs'>,
  caller: Caller,
): Promise<ValuesPage> {
  if (isRefilling() || isBehind()) throw new UnavailableError('the index does not have all documents yet')
  const until = Date.now() + limits.keywordWaitMs
  const endTurn = await withDeadline(limits.keywordWaitMs, caller.signal, (signal) =>
    turns.take(new Callers(caller.id), signal),
  )
  try {
    caller.signal.throwIfAborted()
    const timeoutMs = until - Date.now()
    const outcome = timeoutMs <= 0 ? ({ outcome: 'timed_out' } as const) : await index.values({ ...asked, timeoutMs })
    if (outcome.outcome !== 'found') throw causeOf(outcome, limits.keywordWaitMs)
    return outcome
  } finally {
    endTurn?.()
  }
}
