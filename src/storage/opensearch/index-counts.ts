import { type Cluster, ClusterTimeout } from './cluster.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import { SearchCalls } from './search-calls.ts'

/** What is in an index. */
export interface Counts {
  readonly documents: number
  readonly chunks: number
  /** With a vector of the profile. */
  readonly byProfile: ReadonlyMap<string, number>
}

/** So many documents and chunks are counted in no time, whenever something has changed. */
const smallMax = 1_000_000
/** Those of a larger index are kept for so long. */
const keptMs = 60_000
const countMs = 10_000

/** How an index was when it was counted. Where nothing is written to it, it stays the same. */
export interface IndexState {
  readonly position: number
  /** Documents and chunks; those that are gone count too, some of them for a while. */
  readonly entries: number
  /** Since it was opened where it is. */
  readonly writes: number
}

/** What is in an index. To count it the cluster looks at every chunk: how often it does so does not depend on who asks. */
export class IndexCounts {
  readonly #cluster: Cluster
  readonly #alias: string
  #kept: { readonly counts: Counts | null; readonly state: string; readonly until: number } | null = null
  #counting: Promise<void> | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /** null where they could not be counted in time, and never were. */
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
    // Documents that are gone stay without it.
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
