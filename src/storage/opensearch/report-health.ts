import type { IndexHealth } from '../../search/search-index.ts'
import { readPosition } from './apply-batch.ts'
import type { Cluster } from './cluster.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import type { IndexMeta } from './profiles.ts'
import { nested } from './scope-query.ts'
import { SearchCalls } from './search-calls.ts'

const healthMs = 10_000

interface Counted {
  readonly hits: { readonly total: { readonly value: number } }
  readonly aggregations: {
    readonly chunks: {
      readonly doc_count: number
      readonly profiles: { readonly buckets: readonly { readonly key: string; readonly doc_count: number }[] }
    }
  }
}

interface Stats {
  readonly _all: {
    readonly total: {
      readonly store: { readonly size_in_bytes: number }
      readonly segments: { readonly count: number }
    }
  }
}

export async function reportHealth(cluster: Cluster, alias: string): Promise<IndexHealth> {
  const get = <Answer>(path: string, query: Record<string, string> = {}): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path: `/${path}`, query, harmless: true, timeoutMs: healthMs })
  const [{ status }, { position, purgedThrough }, stats, mappings, counted] = await Promise.all([
    get<{ status: 'green' | 'yellow' | 'red' }>(`_cluster/health/${alias}`),
    readPosition(cluster, alias, healthMs),
    get<Stats>(`${alias}/_stats/store,segments`, { filter_path: '_all.total' }),
    get<Record<string, { mappings: { _meta: IndexMeta } }>>(`${alias}/_mapping`, { filter_path: '*.mappings._meta' }),
    new SearchCalls(cluster, alias, healthMs).search<Counted>({
      size: 0,
      track_total_hits: true,
      query: nested({ match_all: {} }),
      aggs: {
        chunks: {
          nested: { path: chunksPath },
          aggs: { profiles: { terms: { field: ofChunk('profiles'), size: 1000 } } },
        },
      },
    }),
  ])
  const { hits, aggregations } = counted
  const chunks = new Map(aggregations.chunks.profiles.buckets.map(({ key, doc_count }) => [key, doc_count]))
  const { profiles } = Object.values(mappings)[0]!.mappings._meta
  const { store, segments } = stats._all.total
  return {
    state: 'ready',
    reason: '',
    searchable: status !== 'red',
    position,
    purgedThrough,
    documents: hits.total.value,
    chunks: aggregations.chunks.doc_count,
    profiles: Object.entries(profiles).map(([profileId, dimensions]) => ({
      profileId,
      dimensions,
      chunks: chunks.get(profileId) ?? 0,
    })),
    segments: segments.count,
    memoryBytes: 0,
    diskBytes: store.size_in_bytes,
    parts: {},
    warnings: status === 'yellow' ? ['a copy of the search index is missing: one node more would have it'] : [],
  }
}
