import { type Cluster, ClusterTimeout } from './cluster.ts'
import { chunkField, chunksPath } from './mapping.ts'
import { SearchCalls } from './search-calls.ts'

/** The numbers of documents and chunks in an index. */
export interface Counts {
  readonly documents: number
  readonly chunks: number
  /** The number of chunks with a vector, by profile. */
  readonly byProfile: ReadonlyMap<string, number>
}

/** Indexes up to this size are counted after every change, because that is fast. */
const smallMax = 1_000_000
/** Counts of a larger index are cached for this time. */
const cachedMs = 60_000
const countMs = 10_000

/** The state of an index when it was counted. It stays the same while nothing is written. */
export interface IndexState {
  readonly position: number
  /** Documents and chunks, including deleted ones that have not been merged away. */
  readonly entries: number
  /** The number of writes since the shard was opened on its node. */
  readonly writes: number
}

/**
 * Counts the contents of an index. The cluster reads every chunk for it, so concurrent callers share a count and counts
 * are cached.
 */
export class IndexCounts {
  readonly #cluster: Cluster
  readonly #alias: string
  #cached: { readonly counts: Counts | null; readonly state: string; readonly until: number } | null = null
  #counting: Promise<void> | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /** Returns null if no count has finished in time so far. */
  async at({ position, entries, writes }: IndexState): Promise<Counts | null> {
    const cached = this.#cached
    const state = `${position} ${entries} ${writes}`
    if (cached !== null && (cached.state === state || performance.now() < cached.until)) return cached.counts
    this.#counting ??= this.#count(state, entries > smallMax ? cachedMs : 0).finally(() => {
      this.#counting = null
    })
    await this.#counting
    return this.#cached!.counts
  }

  async #count(state: string, cacheMs: number): Promise<void> {
    try {
      const counts = await countAll(this.#cluster, this.#alias)
      this.#cached = { counts, state, until: performance.now() + cacheMs }
    } catch (error) {
      if (!(error instanceof ClusterTimeout)) throw error
      this.#cached = { counts: this.#cached?.counts ?? null, state: '', until: performance.now() + cacheMs }
    }
  }
}

interface Counted {
  readonly hits: { readonly total: { readonly value: number } }
  readonly aggregations: {
    readonly chunks: {
      readonly doc_count: number
      readonly profiles: { readonly buckets: readonly { readonly key: string; readonly doc_count: number }[] }
    }
  }
}

async function countAll(cluster: Cluster, alias: string): Promise<Counts> {
  const { hits, aggregations } = await new SearchCalls(cluster, alias, countMs).search<Counted>({
    size: 0,
    track_total_hits: true,
    // Only documents that are not deleted have this field.
    query: { exists: { field: 'dataset' } },
    aggs: {
      chunks: {
        nested: { path: chunksPath },
        aggs: { profiles: { terms: { field: chunkField('profiles'), size: 1000 } } },
      },
    },
  })
  const { doc_count: chunks, profiles } = aggregations.chunks
  const byProfile = new Map(profiles.buckets.map(({ key, doc_count }) => [key, doc_count]))
  return { documents: hits.total.value, chunks, byProfile }
}
