import type { IndexHealth } from '../../search/search-index.ts'
import { readPosition } from './apply-batch.ts'
import type { Cluster } from './cluster.ts'
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

/** How an index is. Nothing in it takes longer for a larger one, but the counts, which are asked for now and then. */
export async function reportHealth(cluster: Cluster, alias: string, counts: IndexCounts): Promise<IndexHealth> {
  const get = <Answer>(path: string, query: Record<string, string | boolean> = {}): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path: `/${path}`, query, harmless: true, timeoutMs: healthMs })
  const [{ status }, { position, purgedThrough }, { _all: stats }, mappings, settings] = await Promise.all([
    get<{ status: 'green' | 'yellow' | 'red' }>(`_cluster/health/${alias}`),
    readPosition(cluster, alias, healthMs),
    get<Stats>(`${alias}/_stats/docs,indexing,store,segments`, { filter_path: '_all' }),
    get<Record<string, { mappings: { _meta: IndexMeta } }>>(`${alias}/_mapping`, { filter_path: '*.mappings._meta' }),
    get<Settings>(`${alias}/_settings/index.blocks.*`, { flat_settings: true }),
  ])
  const { docs, indexing } = stats.primaries
  const entries = docs.count + docs.deleted
  const found = await counts.at({ position, entries, writes: indexing.index_total })
  const { profiles } = Object.values(mappings)[0]!.mappings._meta
  const warnings: string[] = []
  if (status === 'yellow') warnings.push('a copy of the search index is missing: one node more would have it')
  if (isBlocked(settings)) warnings.push(blockedAdvice.join(': '))
  if (found === null) warnings.push('the cluster did not count the search index in time: it is said to be empty')
  return {
    state: 'ready',
    reason: '',
    searchable: status !== 'red',
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

/** The cluster sets such blocks by itself where a disk is full, and takes them away when there is room again. */
const isBlocked = (settings: Settings): boolean =>
  Object.values(settings).some((one) => Object.values(one.settings).some((value) => value === 'true' || value === true))

export const blockedAdvice = [
  'the cluster takes no writes into the search index',
  'see whether the disk of a node is full, make room there, or remove the block; documents wait in the store meanwhile',
] as const
