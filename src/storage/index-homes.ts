import type { Config } from '../config.ts'
import type { Incidents } from '../incidents.ts'
import type { IndexHome } from '../search/index-home.ts'
import { ANALYSIS_VERSION } from '../text/analysis-version.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { OpenSearchHome } from './opensearch/opensearch-home.ts'
import { SegmentsHome } from './segments/segments-home.ts'

/** Told of what an index does that is no answer to a call. */
export interface IndexWatch {
  readonly watch?: PoolWatch
  readonly incidents?: Incidents
}

type IndexSettings = Pick<Config, 'dataDir' | 'searchUrl' | 'searchKey' | 'searchPrefix' | 'searchShards'>

/**
 * The index technology of the settings. Here it is chosen, and nowhere else: an OpenSearch cluster where they name one, or
 * else files of the data folder, held in memory. `instance` is that of the store which the index is made from.
 */
export function indexHomeOf(
  { dataDir, searchUrl, searchKey, searchPrefix, searchShards }: IndexSettings,
  instance: string | null,
  watch: IndexWatch = {},
): IndexHome {
  const origin = { rules: ANALYSIS_VERSION, instance }
  if (searchUrl === null) return new SegmentsHome({ dataDir, origin, ...watch })
  return new OpenSearchHome({ nodes: searchUrl, apiKey: searchKey, prefix: searchPrefix, shards: searchShards, origin })
}
