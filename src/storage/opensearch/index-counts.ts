import { type Cluster, ClusterTimeout } from './cluster.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import { SearchCalls } from './search-calls.ts'

/** The numbers of documents and chunks in an index. */
export interface Counts {
  readonly documents: number
  readonly chunks: number
  /** The number of chunks with a vector, by profile. */
  readonly byProfile: ReadonlyMap<string, number>
}

/** Indexes up to this size are counted quickly, so they are counted after every change. */
const smallMax = 1_000_000
/** Counts of a larger index are kept for so long. */
const keptMs = 60_000
const countMs = 10_000

/** The state of an index when it was counted. It stays the same while nothing is written. */
export interface IndexState {
  readonly position: number
  /** Documents and chunks; for a while, deleted ones count too. */
  readonly entries: number
  /** The number of writes since the shard was opened on its node. */
  readonly writes: number
}

/**
 * Counts the contents of an index. The cluster reads every chunk for it, so how often it counts does not depend on the
 * number of callers.
 */
export class IndexCounts {
  readonly #cluster: Cluster
  readonly #alias: string
  #kept: { readonly counts: Counts | null; readonly state: string; readonly until: number } | null = null
  #counting: Promise<void> | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /** Null if the index could not be counted in time, now or before. */
  async at({ position, entries, writes }: IndexState): Promise<Counts | null> {
    const kept = this.#kept
    const state = `${position} ${entries} ${writes}`
    if (kept !== null && (kept.state === state || performance.now() < kept.until)) return kept.counts
    this.#counting ??= this.#count(state, entries > smallMax ? keptMs : 0).finally(() => {
      this.#counting = null
    })
    await this.#counting
    return this.#kept!.counts
  }

  async #count(state: string, restMs: number): Promise<void> {
    try {
      const counts = await countAll(this.#cluster, this.#alias)
      this.#kept = { counts, state, until: performance.now() + restMs }
    } catch (error) {
      if (!(error instanceof ClusterTimeout)) throw error
      this.#kept = { counts: this.#kept?.counts ?? null, state: '', until: performance.now() + restMs }
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
    // Only an existing document has this field.
    query: { exists: { field: 'dataset' } },
    aggs: {
      chunks: {
        nested: { path: chunksPath },
        aggs: { profiles: { terms: { field: ofChunk('profiles'), size: 1000 } } },
      },
    },
  })
  const { doc_count: chunks, profiles } = aggregations.chunks
  const byProfile = new Map(profiles.buckets.map(({ key, doc_count }) => [key, doc_count]))
  return { documents: hits.total.value, chunks, byProfile }
}
