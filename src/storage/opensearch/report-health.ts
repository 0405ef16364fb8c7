import type { IndexHealth } from '../../indexing/fed-index.ts'
import { readPosition } from './apply-batch.ts'
import { type Cluster, ClusterError } from './cluster.ts'
import type { IndexCounts } from './index-counts.ts'
import type { IndexMeta } from './profiles.ts'

const healthMs = 10_000

interface Stats {
  readonly _all: {
    readonly primaries: {
      readonly docs: { readonly count: number; readonly deleted: number }
      readonly indexing: { readonly index_total: number }
    }
    readonly total: {
      readonly store: { readonly size_in_bytes: number }
      readonly segments: { readonly count: number }
    }
  }
}

interface Settings {
  readonly [index: string]: { readonly settings: Readonly<Record<string, unknown>> }
}

interface ClusterHealth {
  readonly status: 'green' | 'yellow' | 'red'
  /** Not reported by every product with this API. */
  readonly discovered_cluster_manager?: boolean
  readonly number_of_nodes: number
  readonly active_shards: number
  readonly initializing_shards: number
  readonly relocating_shards: number
  readonly unassigned_shards: number
}

/** Reads the local state of a node, which works without a cluster manager. */
export const readClusterHealth = (cluster: Cluster, indexes: string, timeoutMs: number): Promise<ClusterHealth> =>
  cluster.call({
    method: 'GET',
    path: `/_cluster/health/${indexes}`,
    query: { local: true },
    idempotent: true,
    timeoutMs,
  })

/**
 * The health of an index. Only the counts take longer for a larger index, and they are cached. Rejects at once if the
 * cluster has no manager, because half of the requests would wait for one.
 */
export async function reportHealth(cluster: Cluster, alias: string, counts: IndexCounts): Promise<IndexHealth> {
  const until = performance.now() + healthMs
  const timeLeftMs = (): number => until - performance.now()
  const get = <Answer>(path: string, query: Record<string, string | boolean> = {}): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path: `/${path}`, query, idempotent: true, timeoutMs: timeLeftMs() })
  const { status, discovered_cluster_manager: hasManager } = await readClusterHealth(cluster, alias, healthMs)
  if (hasManager === false) throw new ClusterError(noManagerAdvice.join(': '), 503, 'no_cluster_manager')
  const [{ position, purgedThrough }, { _all: stats }, mappings, settings] = await Promise.all([
    readPosition(cluster, alias, timeLeftMs()),
    get<Stats>(`${alias}/_stats/docs,indexing,store,segments`, { filter_path: '_all' }),
    get<Record<string, { mappings: { _meta: IndexMeta } }>>(`${alias}/_mapping`, { filter_path: '*.mappings._meta' }),
    get<Settings>(`${alias}/_settings/index.blocks.*`, { flat_settings: true }),
  ])
  const { docs, indexing } = stats.primaries
  const entries = docs.count + docs.deleted
  const found = await counts.at({ position, entries, writes: indexing.index_total })
  const { profiles } = Object.values(mappings)[0]!.mappings._meta
  const warnings: string[] = []
  if (status === 'yellow') warnings.push('a replica of the search index is missing: add a node for it')
  const takesWrites = !isBlocked(settings)
  if (!takesWrites) warnings.push(blockedAdvice.join(': '))
  if (found === null) warnings.push('the cluster did not count the search index in time: its size is reported as 0')
  return {
    state: 'ready',
    reason: '',
    searchable: status !== 'red',
    takesWrites,
    position,
    purgedThrough,
    documents: found?.documents ?? 0,
    chunks: found?.chunks ?? 0,
    profiles: Object.entries(profiles).map(([profileId, dimensions]) => ({
      profileId,
      dimensions,
      chunks: found?.byProfile.get(profileId) ?? 0,
    })),
    segments: stats.total.segments.count,
    memoryBytes: 0,
    diskBytes: stats.total.store.size_in_bytes,
    parts: {},
    warnings,
  }
}

/** The cluster sets such a block itself if a disk is full, and removes it when there is enough space again. */
const isBlocked = (settings: Settings): boolean =>
  Object.values(settings).some((one) => Object.values(one.settings).some((value) => value === 'true' || value === true))

export const noManagerAdvice = [
  'the search cluster has no manager, so it refuses writes',
  'start the missing nodes: more than half of the manager-eligible nodes must be connected; until then, documents wait in the store',
] as const

export const blockedAdvice = [
  'the cluster refuses writes to the search index',
  'if the disk of a node is full, free space on it, otherwise remove the block; until then, documents wait in the store',
] as const
