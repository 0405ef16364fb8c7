import type { Incidents } from '../incidents.ts'
import type { Log } from '../log.ts'
import type { CurrentIndex } from '../search/current-index.ts'
import type { IndexHome } from '../search/index-home.ts'
import type { Indexing } from './indexing.ts'
import { type Repeating, repeat } from './repeating.ts'

/** How often a rebuilt index is looked for. */
const lookEveryMs = 2000

export interface Adopting extends Pick<Repeating, 'stop'> {
  /** Why the index that was handed over last is not served; null where it is. */
  readonly trouble: string | null
}

/** Serves an index that was handed over, or is there at last, in the place of the one before it. */
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
    logger.info({}, 'another search index is served')
    return false
  }
  const looking = repeat('adopt-index', lookEveryMs, adopt, incidents)
  return {
    get trouble() {
      return trouble
    },
    stop: () => looking.stop(),
  }
}
