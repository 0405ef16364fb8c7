import type { Incidents } from '../incidents.ts'
import type { ErasureStore } from '../operator/erasure-store.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Small enough that a writer never waits noticeably behind one portion. */
const hiddenAtOnce = 200
const removedAtOnce = 20
/** Jobs that another process began are found this late, and so is that an index is rid of the documents. */
const everyMs = 1000

export interface ErasureParts {
  readonly store: ErasureStore
  /** Makes sure that what was deleted from the store has left its files. */
  readonly scrub: () => Promise<void>
  /** Removes the results of runs that have ended. Returns whether there may be more. */
  readonly expireRuns: () => Promise<boolean>
  readonly now: () => number
}

/** Brings every erasure to its end, however often it is interrupted. Several processes may do so at once. */
export function startErasures(parts: ErasureParts, incidents: Incidents): Repeating {
  const removed = new Set<string>()
  return repeat(
    'erasures',
    everyMs,
    async () => {
      let more = false
      for (const { erasureId, isHidden, purgeArtifacts } of await parts.store.unfinished()) {
        more = (await advance(parts, { erasureId, isHidden, purgeArtifacts }, removed)) || more
      }
      return more
    },
    incidents,
  )
}

/** One step of one job. Returns whether the next can follow at once. */
async function advance(
  { store, scrub, expireRuns, now }: ErasureParts,
  { erasureId, isHidden, purgeArtifacts }: { erasureId: string; isHidden: boolean; purgeArtifacts: boolean },
  removed: Set<string>,
): Promise<boolean> {
  if (!isHidden) {
    await store.hide(erasureId, hiddenAtOnce, now())
    return true
  }
  if (!removed.has(erasureId)) {
    if (await store.remove(erasureId, removedAtOnce)) return true
    removed.add(erasureId)
  }
  if (!(await store.isPurged(erasureId, now()))) return false
  if (purgeArtifacts && (await expireRuns())) return true
  await scrub()
  await store.complete(erasureId, now())
  removed.delete(erasureId)
  return true
}
