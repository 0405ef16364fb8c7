import type { OperatorStore } from '../operator/operator-store.ts'
import { DamagedEntry } from '../operator/removal-record.ts'
import type { Removals } from '../operator/removals.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

const pauses = { everyMs: 1000, whenIdleMs: 2000 }
/** A process of an older version writes no line to the audit log, so its work is found this late. */
const lookEveryMs = 60_000
/** More than a process of an older version completes in that time. */
const newestErasures = 100

export interface RemovalLoopParts {
  readonly removals: Removals
  readonly operator: Pick<OperatorStore, 'audit'>
  readonly works: boolean
  readonly notifications: WriteNotifications | null
}

export interface RemovalLoop extends Repeating {
  /** Resolves when the record was compared with the store, or could not be. */
  readonly firstLook: Promise<void>
}

/** Compares the record of removals with the store, and then adds missing entries. */
export function startRemovals(
  { removals, operator, works, notifications }: RemovalLoopParts,
  incidents: Incidents,
): RemovalLoop {
  const first = Promise.withResolvers<void>()
  let hasFoundAll = false
  let lookedAt = -Infinity
  let newestLine: string | undefined
  const loop = repeat(
    'removal-record',
    { ...pauses, notifications: works ? notifications : null },
    async () => {
      try {
        if (!removals.isCompared) await removals.compare()
      } catch (error) {
        // New erasures and revocations do not wait until an operator has dealt with a damaged entry.
        if (works && error instanceof DamagedEntry) {
          while (await removals.writeErasures());
          await removals.writeKeys()
        }
        throw error
      } finally {
        first.resolve()
      }
      if (!removals.isCompared) return pauses.everyMs
      if (!works) return false
      if (await removals.writeErasures()) return true
      const isDue = performance.now() - lookedAt >= lookEveryMs
      // The audit log has every end of a key.
      const newest = (await operator.audit({ before: null, limit: 1 }))[0]?.auditId
      if (!isDue && newest === newestLine) return false
      await removals.writeKeys()
      newestLine = newest
      if (isDue) {
        await removals.findUnwritten(hasFoundAll ? newestErasures : Infinity)
        hasFoundAll = true
        lookedAt = performance.now()
      }
      return true
    },
    incidents,
  )
  return {
    firstLook: first.promise,
    wake: () => loop.wake(),
    stop() {
      removals.end()
      return loop.stop()
    },
  }
}
