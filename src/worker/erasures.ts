import type { Incidents } from '../incidents.ts'
import type { ErasureStore } from '../operator/erasure-store.ts'
import type { WriteNews } from '../write-news.ts'
import { type Repeating, repeat } from './repeating.ts'

/** Small enough that a writer never waits noticeably behind one portion. */
const hiddenAtOnce = 200
const toldAtOnce = 200
const removedAtOnce = 20
const eventsAtOnce = 5000
/** Jobs that another process began are found this late, and so is that an index is rid of the documents. */
const pauses = { everyMs: 1000, whenIdleMs: 2000 }

export interface ErasureParts {
  readonly store: ErasureStore
  /** Makes sure that what was deleted from the store has left its files. */
  readonly scrub: () => Promise<void>
  /** Removes the results of runs that have ended. Returns whether there may be more. */
  readonly expireRuns: () => Promise<boolean>
  readonly now: () => number
  readonly news?: WriteNews | null
}

/** Brings every erasure to its end, however often it is interrupted. Several processes may do so at once. */
export function startErasures(parts: ErasureParts, incidents: Incidents): Repeating {
  const progress = new Map<string, Progress>()
  return repeat(
    'erasures',
    { ...pauses, news: parts.news ?? null },
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

/** What this process knows to be done of a job that is hidden; another one does it again. */
interface Progress {
  readonly isTold: boolean
  readonly isRemoved: boolean
  /** How far the feed has been looked through; null when all of it has. */
  readonly eventsThrough: number | null
}

const nothingDone: Progress = { isTold: false, isRemoved: false, eventsThrough: 0 }

/** One step of one job. Returns whether the next can follow at once. */
async function advance(
  { store, scrub, expireRuns, now }: ErasureParts,
  { erasureId, isHidden, purgeArtifacts }: { erasureId: string; isHidden: boolean; purgeArtifacts: boolean },
  progress: Map<string, Progress>,
): Promise<boolean> {
  if (!isHidden) {
    await store.hide(erasureId, hiddenAtOnce, now())
    return true
  }
  const done = progress.get(erasureId) ?? nothingDone
  const told = done.isTold ? 'done' : await store.tellArrivals(erasureId, toldAtOnce, now())
  if (told === 'more') return true
  const isTold = told === 'done'
  if (!done.isRemoved) {
    const isMore = await store.remove(erasureId, removedAtOnce)
    progress.set(erasureId, { ...done, isTold, isRemoved: !isMore })
    return true
  }
  if (done.eventsThrough !== null) {
    const eventsThrough = await store.forgetEvents(erasureId, done.eventsThrough, eventsAtOnce)
    progress.set(erasureId, { ...done, isTold, eventsThrough })
    return true
  }
  if (!isTold) return false
  if (!(await store.isPurged(erasureId, now()))) return false
  if (purgeArtifacts && (await expireRuns())) return true
  await scrub()
  await store.complete(erasureId, now())
  progress.delete(erasureId)
  return true
}
