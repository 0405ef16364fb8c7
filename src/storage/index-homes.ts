import type { Config } from '../config.ts'
import type { Incidents } from '../incidents.ts'
import type { IndexHome } from '../search/index-home.ts'
import { ANALYSIS_VERSION } from '../text/analyse.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { SegmentsHome } from './segments/segments-home.ts'

/** Told of what an index does that is no answer to a call. */
export interface IndexWatch {
  readonly watch?: PoolWatch
  readonly incidents?: Incidents
}

/**
 * The index technology of the settings. Here it is chosen, and nowhere else; there is one so far: files of the data
 * folder, held in memory. `instance` is that of the store which the index is made from.
 */
export function indexHomeOf(
  { dataDir }: Pick<Config, 'dataDir'>,
  instance: string | null,
  watch: IndexWatch = {},
): IndexHome {
  return new SegmentsHome({ dataDir, origin: { rules: ANALYSIS_VERSION, instance }, ...watch })
}
