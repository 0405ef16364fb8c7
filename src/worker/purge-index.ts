import type { KeptIndex } from '../indexing/fed-index.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

const name = 'purge-index'
const pauses = { everyMs: 1000, whenIdleMs: 2000 }
/** An index that does not report for three of these periods counts as removed. */
const reportEveryMs = 30_000

export interface PurgeParts {
  readonly source: IndexSource
  readonly index: KeptIndex
  /** Identifies the index of this process. */
  readonly copyId: string
  /** Whether several processes have an index each, and come and go. */
  readonly shared: boolean
  /** Whether this process may change the index. */
  readonly feeds: () => Promise<boolean>
  /** Removes indexes that no process feeds, which never learn of an erasure. Returns false if one is left. */
  readonly removeUnfed: () => Promise<boolean>
  readonly notifications?: WriteNotifications | null
}

/**
 * Purges all remains of erased documents from the index, once the index has reached the erasure, and reports this to
 * the store. An erasure is complete when every index in use has reported it.
 */
export function startPurging(
  { source, index, copyId, shared, feeds, removeUnfed, notifications = null }: PurgeParts,
  incidents: Incidents,
): Repeating {
  let lastReport: { readonly through: number; readonly at: number } | null = null
  /** Keeps reporting during the work: purging can take hours, and an index that does not report counts as removed. */
  const whileReporting = async (through: number, work: () => Promise<void>): Promise<void> => {
    const report = () => source.reportPurged(copyId, through, Date.now())
    const reporting = setInterval(
      () => report().catch((error: unknown) => incidents.failed(name, error)),
      reportEveryMs,
    )
    try {
      await work()
    } finally {
      clearInterval(reporting)
    }
  }
  return repeat(
    name,
    { ...pauses, notifications },
    async () => {
      const erased = await source.newestErasure()
      if (erased === 0 && !shared) return false
      // Reading the state of an index is slow. It is still repeated now and then, because the index may be another one.
      if (lastReport !== null && lastReport.through >= erased && Date.now() - lastReport.at < reportEveryMs)
        return false
      if (!(await feeds())) return false
      const { state, position, purgedThrough } = await index.health()
      if (state !== 'ready') return pauses.everyMs
      // If nothing was erased, the index is purged up to its position.
      let through = erased === 0 ? position : purgedThrough
      if (through < erased && position >= erased && (await removeUnfed())) {
        await whileReporting(purgedThrough, () => index.purge())
        through = (await index.health()).purgedThrough
      }
      const at = Date.now()
      const isDue = lastReport?.through !== through || (shared && at - lastReport.at >= reportEveryMs)
      if (isDue) await source.reportPurged(copyId, through, at)
      if (isDue || through >= erased) lastReport = { through, at }
      // There is no notification when the index reaches the erasure, so this checks again soon.
      return through < erased && pauses.everyMs
    },
    incidents,
  )
}
