import type { IndexHome } from '../indexing/index-home.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Measures } from '../platform/measures.ts'
import { indexRules } from '../search/index-rules.ts'
import type { Config } from '../settings/config.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { OpenSearchHome } from './opensearch/opensearch-home.ts'
import { removeUnusedIndex } from './segments/file/index-files.ts'
import { SegmentsHome } from './segments/segments-home.ts'

/** Observers of an index, for events outside of calls. */
export interface IndexWatch {
  readonly watch?: PoolWatch
  readonly incidents?: Incidents
  readonly measures?: Measures
}

type IndexSettings = Pick<Config, 'dataDir' | 'searchUrl' | 'searchKey' | 'searchPrefix' | 'searchShards'>

/**
 * Chooses the index by the settings: an OpenSearch cluster if they name one, otherwise the embedded index in the data
 * folder. No other code makes this choice. `instance` identifies the store from which the index is built.
 */
export function indexHomeOf(
  { dataDir, searchUrl, searchKey, searchPrefix, searchShards }: IndexSettings,
  instance: string | null,
  watch: IndexWatch = {},
): IndexHome {
  const origin = { rules: indexRules, instance }
  const { measures, ...watchers } = watch
  if (searchUrl === null) return new SegmentsHome({ dataDir, origin, ...watchers })
  const cluster = { nodes: searchUrl, apiKey: searchKey, prefix: searchPrefix, shards: searchShards }
  return new OpenSearchHome({ ...cluster, origin, ...(measures === undefined ? {} : { measures }) })
}

/**
 * Returns a function that removes the unused indexes of the data folder, which may still contain erased documents. It
 * returns the number of files removed, and rejects if another process has an index open. Null if the data folder has
 * the served index.
 */
export const removalOfUnusedIndexes = ({
  dataDir,
  searchUrl,
}: Pick<Config, 'dataDir' | 'searchUrl'>): (() => Promise<number>) | null =>
  searchUrl === null ? null : () => removeUnusedIndex(dataDir)
