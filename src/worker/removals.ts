import type { OperatorStore } from '../operator/operator-store.ts'
import { DamagedEntry } from '../operator/removal-record.ts'
import type { Removals } from '../operator/removals.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

const pauses = { everyMs: 1000, whenIdleMs: 2000 }
/** Removals by a process of an older version, which writes no line to the audit log, are found within this time. */
const checkEveryMs = 60_000
/** More erasures than a process of an older version completes in that time. */
const newestErasures = 100

export interface RemovalLoopParts {
  readonly removals: Removals
  readonly operator: Pick<OperatorStore, 'audit'>
  readonly isWorker: boolean
  readonly notifications: WriteNotifications | null
}

export interface RemovalLoop extends Repeating {
  /** Resolves when the record was compared with the store, or could not be. */
  readonly firstComparison: Promise<void>
}

/** Compares the record of removals with the store, and then adds missing entries. */
export function startRemovals(
  { removals, operator, isWorker, notifications }: RemovalLoopParts,
  incidents: Incidents,
): RemovalLoop {
  const first = Promise.withResolvers<void>()
  let hasFoundAll = false
  let checkedAt = -Infinity
  let newestLine: string | undefined
  const loop = repeat(
    'removal-record',
    { ...pauses, notifications: isWorker ? notifications : null },
    async () => {
      try {
        if (!removals.isCompared) await removals.compare()
      } catch (error) {
        // New erasures and revocations are written even before an operator has dealt with a damaged entry.
        if (isWorker && error instanceof DamagedEntry) {
          while (await removals.writeErasures());
          await removals.writeKeys()
        }
        throw error
      } finally {
        first.resolve()
      }
      if (!removals.isCompared) return pauses.everyMs
      if (!isWorker) return false
      if (await removals.writeErasures()) return true
      const isDue = performance.now() - checkedAt >= checkEveryMs
      // A new line in the audit log may be about the end of a key.
      const newest = (await operator.audit({ before: null, limit: 1 }))[0]?.auditId
      if (!isDue && newest === newestLine) return false
      await removals.writeKeys()
      newestLine = newest
      if (isDue) {
        await removals.findUnwritten(hasFoundAll ? newestErasures : Infinity)
        hasFoundAll = true
        checkedAt = performance.now()
      }
      return true
    },
    incidents,
  )
  return {
    firstComparison: first.promise,
    wake: () => loop.wake(),
    stop() {
      removals.end()
      return loop.stop()
    },
  }
}
