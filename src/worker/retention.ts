import type { ErasureStore } from '../operator/erasure-store.ts'
import { type TrustedClock, whileTrusted } from '../operator/trusted-clock.ts'
import { newId } from '../platform/ids.ts'
import type { Incidents } from '../platform/incidents.ts'
import { type Repeating, repeat } from './repeating.ts'

/** At most one erasure per hour and dataset. Retention is in days, so this is exact enough. */
const everyMs = 60 * 60_000

/** The actor of erasures by retention. */
const retentionActor = 'retention'

/** Begins erasures of documents that are past their dataset's retention. The erasure job does the rest. */
export function startRetention(
  store: Pick<ErasureStore, 'overdue' | 'begin'>,
  now: () => number,
  clock: Pick<TrustedClock, 'trusts'>,
  incidents: Incidents,
): Repeating {
  return repeat(
    'retention',
    everyMs,
    whileTrusted(clock, async () => {
      for (const part of await store.overdue(now())) {
        const selection = { expired: part }
        const rest = { keepTombstones: true, purgeArtifacts: false, mustExist: false }
        await store.begin({ erasureId: newId('ers', now()), selection, ...rest }, { actor: retentionActor, at: now() })
      }
      return false
    }),
    incidents,
  )
}
