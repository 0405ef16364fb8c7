import { UnavailableError } from '../errors.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import type { Caller } from '../turns/caller.ts'
import { Callers } from '../turns/callers.ts'
import type { FairTurns } from '../turns/fair-turns.ts'
import { searchLimits as limits } from './limits.ts'
import type { SearchIndex, ValuesPage, ValuesRequest } from './search-index.ts'
import { causeOf } from './shortfall.ts'

export interface ValuesParts {
  readonly index: SearchIndex
  /** Those of searches: what the cores do for one they cannot do for the other. */
  readonly turns: FairTurns
  readonly isRefilling: () => boolean
}

/** Rejects with an `UnavailableError` where the index has no answer, or not all documents: counts that are too low look right. */
export async function listValues(
  { index, turns, isRefilling }: ValuesParts,
  asked: Omit<ValuesRequest, 'timeoutMs'>,
  caller: Caller,
): Promise<ValuesPage> {
  if (isRefilling()) throw new UnavailableError('the index does not have all documents yet')
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
