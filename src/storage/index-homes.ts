import type { IndexHome } from '../indexing/index-home.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Measures } from '../platform/measures.ts'
import type { Config } from '../settings/config.ts'
import { ANALYSIS_VERSION } from '../text/analysis-version.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { OpenSearchHome } from './opensearch/opensearch-home.ts'
import { removeUnusedIndex } from './segments/file/index-files.ts'
import { SegmentsHome } from './segments/segments-home.ts'

/** Observers of an index, for events that belong to no call. */
export interface IndexWatch {
  readonly watch?: PoolWatch
  readonly incidents?: Incidents
  readonly measures?: Measures
}

type IndexSettings = Pick<Config, 'dataDir' | 'searchUrl' | 'searchKey' | 'searchPrefix' | 'searchShards'>

/**
 * The index according to the settings: an OpenSearch cluster if they name one, otherwise files of the data folder,
 * which are held in memory. The only code that chooses it. `instance` identifies the store from which the index is
 * built.
 */
export function indexHomeOf(
  { dataDir, searchUrl, searchKey, searchPrefix, searchShards }: IndexSettings,
  instance: string | null,
  watch: IndexWatch = {},
): IndexHome {
  const origin = { rules: ANALYSIS_VERSION, instance }
  const { measures, ...watchers } = watch
  if (searchUrl === null) return new SegmentsHome({ dataDir, origin, ...watchers })
  const cluster = { nodes: searchUrl, apiKey: searchKey, prefix: searchPrefix, shards: searchShards }
  return new OpenSearchHome({ ...cluster, origin, ...(measures === undefined ? {} : { measures }) })
}

/**
 * Returns a function that removes every index of the data folder. No search reads these indexes, but they may still
 * contain erased documents. The function returns the number of files removed, and rejects if another process has an
 * index open. Null if the indexes of the data folder are in use.
 */
export const removalOfUnusedIndexes = ({
  dataDir,
  searchUrl,
}: Pick<Config, 'dataDir' | 'searchUrl'>): (() => Promise<number>) | null =>
  searchUrl === null ? null : () => removeUnusedIndex(dataDir)
