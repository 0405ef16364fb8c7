import type { KeptIndex } from '../indexing/fed-index.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { type Repeating, repeat } from './repeating.ts'

const name = 'purge-index'
const pauses = { everyMs: 1000, whenIdleMs: 2000 }
/** An index that reports nothing for three of these periods counts as gone. */
const sayEveryMs = 30_000

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
 * Purges all remains of erased documents from the index, once it has learnt of the erasure, and reports this to the
 * store. An erasure is complete when every index in use has reported it.
 */
export function startPurging(
  { source, index, copyId, shared, feeds, removeUnfed, notifications = null }: PurgeParts,
  incidents: Incidents,
): Repeating {
  let said: { readonly through: number; readonly at: number } | null = null
  /** Purging can take hours, and an index that does not report meanwhile would count as gone. */
  const whileSaying = async (through: number, work: () => Promise<void>): Promise<void> => {
    const say = () => source.reportPurged(copyId, through, Date.now())
    const saying = setInterval(() => say().catch((error: unknown) => incidents.failed(name, error)), sayEveryMs)
    try {
      await work()
    } finally {
      clearInterval(saying)
    }
  }
  return repeat(
    name,
    { ...pauses, notifications },
    async () => {
      const erased = await source.newestErasure()
      if (erased === 0 && !shared) return false
      // Reading the state of an index takes time, so this is done only now and then: another one may be served by now.
      if (said !== null && said.through >= erased && Date.now() - said.at < sayEveryMs) return false
      if (!(await feeds())) return false
      const { state, position, purgedThrough } = await index.health()
      if (state !== 'ready') return pauses.everyMs
      // If nothing was erased, an index at any position is purged.
      let through = erased === 0 ? position : purgedThrough
      if (through < erased && position >= erased && (await removeUnfed())) {
        await whileSaying(purgedThrough, () => index.purge())
        through = (await index.health()).purgedThrough
      }
      const at = Date.now()
      const isDue = said?.through !== through || (shared && at - said.at >= sayEveryMs)
      if (isDue) await source.reportPurged(copyId, through, at)
      if (isDue || through >= erased) said = { through, at }
      // No notification says that the index has come this far.
      return through < erased && pauses.everyMs
    },
    incidents,
  )
}
