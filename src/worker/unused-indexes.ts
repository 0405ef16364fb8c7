import type { IndexSource } from '../indexing/index-source.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { type Repeating, repeat } from './repeating.ts'

const name = 'unused-indexes'
/** `tidemark reindex` with other settings may create files again while this process runs. */
const checkEveryMs = 30_000

export interface UnusedIndexParts {
  /** Removes the index files that this process will not use again. Returns how many. */
  readonly remove: () => Promise<number>
  readonly source: Pick<IndexSource, 'reportPurged' | 'reportRemoved'>
  /** Identifies the index that this process would have without the cluster. */
  readonly copyId: string
  readonly logger: Log
}

export interface RemovingUnused extends Pick<Repeating, 'stop'> {
  /** Removes existing files. Returns whether none is left. A failure is reported like one of the job. */
  removeNow(): Promise<boolean>
}

/**
 * Removes an index that a move to a cluster left behind, because it holds documents that may be erased later. Until it
 * is removed it counts as in use, so that no erasure completes.
 */
export function startRemovingUnused(
  { remove, source, copyId, logger }: UnusedIndexParts,
  incidents: Incidents,
): RemovingUnused {
  let mayBeReported = true
  const check = async (): Promise<false> => {
    let files: number
    try {
      files = await remove()
    } catch (error) {
      mayBeReported = true
      await source.reportPurged(copyId, 0, Date.now())
      throw error
    }
    if (files > 0) logger.info({ files }, 'removed the search index of the data folder: searches go to the cluster')
    if (files > 0 || mayBeReported) await source.reportRemoved(copyId)
    mayBeReported = false
    return false
  }
  const checking = repeat(name, checkEveryMs, check, incidents)
  return {
    async removeNow() {
      try {
        await check()
        return true
      } catch (error) {
        incidents.failed(name, error)
        return false
      }
    },
    stop: () => checking.stop(),
  }
}
