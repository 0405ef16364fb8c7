import type { ErasureStore } from '../operator/erasure-store.ts'
import type { TrustedClock } from '../operator/trusted-clock.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Small enough that a writer never waits noticeably for one portion. */
const hiddenAtOnce = 200
const announcedAtOnce = 200
const removedAtOnce = 20
const eventsAtOnce = 5000
/** The longest delay before jobs of another process, and purged indexes, are noticed. */
const pauses = { everyMs: 1000, whenIdleMs: 2000 }

export interface ErasureParts {
  readonly store: ErasureStore
  /** Removes deleted data from the files of the store. */
  readonly scrub: () => Promise<void>
  /** Removes indexes that a move to a cluster left in the data folder. Returns whether all are gone. */
  readonly removeUnusedIndexes: () => Promise<boolean>
  /** Removes the results of expired runs. Returns whether there may be more. */
  readonly expireRuns: () => Promise<boolean>
  /** With a wrong clock, results of runs that only seem to be expired would be removed, too. */
  readonly clock: Pick<TrustedClock, 'trusts'>
  /** Whether the record of removals, which is stored apart from the store, has this erasure. If not, it is queued. */
  readonly isRecorded: (erasureId: string) => boolean
  readonly now: () => number
  readonly notifications?: WriteNotifications | null
}

/** Completes every erasure, however often it is interrupted. Several processes may do so at once. */
export function startErasures(parts: ErasureParts, incidents: Incidents): Repeating {
  const progress = new Map<string, Progress>()
  return repeat(
    'erasures',
    { ...pauses, notifications: parts.notifications ?? null },
    async () => {
      let more = false
      const unfinished = await parts.store.unfinished()
      for (const { erasureId, isHidden, purgeArtifacts } of unfinished) {
        more = (await advance(parts, { erasureId, isHidden, purgeArtifacts }, progress)) || more
      }
      return more || (unfinished.length > 0 && pauses.everyMs)
    },
    incidents,
  )
}

/** The steps that this process has done for a hidden job. They are not stored, so another process repeats them. */
interface Progress {
  readonly isAnnounced: boolean
  readonly isRemoved: boolean
  /** How far the feed was scanned; null at its end. */
  readonly eventsThrough: number | null
}

const nothingDone: Progress = { isAnnounced: false, isRemoved: false, eventsThrough: 0 }

/** Does one step of one job. Returns whether the next one can follow at once. */
async function advance(
  { store, scrub, removeUnusedIndexes, expireRuns, clock, isRecorded, now }: ErasureParts,
  { erasureId, isHidden, purgeArtifacts }: { erasureId: string; isHidden: boolean; purgeArtifacts: boolean },
  progress: Map<string, Progress>,
): Promise<boolean> {
  if (!isHidden) {
    await store.hide(erasureId, hiddenAtOnce, now())
    return true
  }
  const recorded = isRecorded(erasureId)
  const done = progress.get(erasureId) ?? nothingDone
  const announced = done.isAnnounced ? 'done' : await store.announceArrivals(erasureId, announcedAtOnce, now())
  if (announced === 'more') return true
  const isAnnounced = announced === 'done'
  if (!done.isRemoved) {
    const isMore = await store.remove(erasureId, removedAtOnce)
    progress.set(erasureId, { ...done, isAnnounced, isRemoved: !isMore })
    return true
  }
  if (done.eventsThrough !== null) {
    const eventsThrough = await store.forgetEvents(erasureId, done.eventsThrough, eventsAtOnce)
    progress.set(erasureId, { ...done, isAnnounced, eventsThrough })
    return true
  }
  if (!isAnnounced || !recorded) return false
  if (!(await store.isPurged(erasureId, now())) || !(await removeUnusedIndexes())) return false
  if (purgeArtifacts && !(await clock.trusts())) return false
  if (purgeArtifacts && (await expireRuns())) return true
  await scrub()
  await store.complete(erasureId, now())
  progress.delete(erasureId)
  return true
}
