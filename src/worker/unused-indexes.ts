import type { IndexSource } from '../indexing/index-source.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { type Repeating, repeat } from './repeating.ts'

const name = 'unused-indexes'
/** `tidemark reindex` with other settings may create files again while this process runs. */
const lookEveryMs = 30_000

export interface UnusedIndexParts {
  /** Removes the index files that this process will not use again. Returns how many. */
  readonly remove: () => Promise<number>
  readonly source: Pick<IndexSource, 'reportPurged' | 'reportRemoved'>
  /** Identifies the index that this process would have. */
  readonly copyId: string
  readonly logger: Log
}

export interface RemovingUnused extends Pick<Repeating, 'stop'> {
  /** Removes existing files. Returns whether none is left; a failure is reported as one of the job. */
  removeNow(): Promise<boolean>
}

/**
 * An index that a move to a cluster left behind still holds documents that are erased later. It is removed. Until then
 * it counts as in use, so that no erasure completes.
 */
export function startRemovingUnused(
  { remove, source, copyId, logger }: UnusedIndexParts,
  incidents: Incidents,
): RemovingUnused {
  let mayBeKnown = true
  const look = async (): Promise<false> => {
    let files: number
    try {
      files = await remove()
    } catch (error) {
      mayBeKnown = true
      await source.reportPurged(copyId, 0, Date.now())
      throw error
    }
    if (files > 0) logger.info({ files }, 'removed the search index of the data folder: searches go to the cluster')
    if (files > 0 || mayBeKnown) await source.reportRemoved(copyId)
    mayBeKnown = false
    return false
  }
  const looking = repeat(name, lookEveryMs, look, incidents)
  return {
    async removeNow() {
      try {
        await look()
        return true
      } catch (error) {
        incidents.failed(name, error)
        return false
      }
    },
    stop: () => looking.stop(),
  }
}
