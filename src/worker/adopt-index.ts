import type { CurrentIndex } from '../indexing/current-index.ts'
import type { IndexHome } from '../indexing/index-home.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { Indexing } from './indexing.ts'
import { type Repeating, repeat } from './repeating.ts'

/** How often to check for a rebuilt index. */
const checkEveryMs = 2000

export interface Adopting extends Pick<Repeating, 'stop'> {
  /** Why the last handed-over index is not served; null if it is. */
  readonly trouble: string | null
}

/** Serves an index that was handed over, or has become available, instead of the current one. */
export function startAdopting(
  home: IndexHome,
  index: CurrentIndex,
  indexing: Indexing,
  incidents: Incidents,
  logger: Log,
): Adopting {
  let trouble: string | null = null
  const adopt = async (): Promise<boolean> => {
    const rebuilt = await home.openNewer().catch((error: unknown) => {
      trouble = error instanceof Error ? error.message : String(error)
      throw error
    })
    trouble = null
    if (rebuilt === null) return false
    await indexing.exchange(() => index.replace(rebuilt))
    await home.removeOlder()
    logger.info({}, 'switched to another search index')
    return false
  }
  const checking = repeat('adopt-index', checkEveryMs, adopt, incidents)
  return {
    get trouble() {
      return trouble
    },
    stop: () => checking.stop(),
  }
}
