import { newId } from '../ids.ts'
import type { Incidents } from '../incidents.ts'
import type { ErasureStore } from '../operator/erasure-store.ts'
import { type Repeating, repeat } from './repeating.ts'

/** One erasure an hour for each dataset at most: what is a day old need not go to the minute. */
const everyMs = 60 * 60_000

/** Who erases what a dataset has kept for as long as it should. */
const retentionActor = 'retention'

/** Begins the erasure of documents that are older than their dataset keeps them; the erasures' own loop does the rest. */
export function startRetention(
  store: Pick<ErasureStore, 'overdue' | 'begin'>,
  now: () => number,
  incidents: Incidents,
): Repeating {
  return repeat(
    'retention',
    everyMs,
    async () => {
      for (const part of await store.overdue(now())) {
        const selection = { expired: part }
        const rest = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
        await store.begin({ erasureId: newId('ers', now()), selection, ...rest }, { actor: retentionActor, at: now() })
      }
      return false
    },
    incidents,
  )
}
