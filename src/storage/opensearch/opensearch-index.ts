import { LRUCache } from 'lru-cache'
import type {
  ApplyOutcome,
  IndexBatch,
  IndexHealth,
  SearchIndex,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../indexing/fed-index.ts'
import { TidemarkError } from '../../platform/errors.ts'
import type {
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  TimedOut,
  Unavailable,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
} from '../../search/search-index.ts'
import { applyBatch, readPosition, writePurged } from './apply-batch.ts'
import { type Cluster, ClusterError, ClusterTimeout } from './cluster.ts'
import { IndexCounts } from './index-counts.ts'
import { emptyIndex } from './index-names.ts'
import { listValues } from './list-values.ts'
import { listWithoutVector } from './list-without-vector.ts'
import { Profiles } from './profiles.ts'
import { IndexPurge } from './purge-index.ts'
import { reportHealth } from './report-health.ts'
import { type DocumentScores, SearchCalls } from './search-calls.ts'
import { keywordScores, searchKeyword } from './search-keyword.ts'
import { comparedMax, type LargeScopes, searchVector, vectorScores } from './search-vector.ts'
import { findSimilarWords } from './similar-words.ts'

export interface OpenSearchIndexOptions {
  readonly cluster: Cluster
  /** The alias of the index's generation. */
  readonly alias: string
  /** The most vectors that are compared exactly. Among more, the HNSW graph preselects candidates. */
  readonly comparedMax?: number
}

/** The size of the cache of large scopes. */
const largeScopesMax = 500

/** The adapter for OpenSearch. All data is in the cluster, and this process caches nothing that affects results. */
export class OpenSearchIndex implements SearchIndex {
  readonly isSound = true
  readonly #cluster: Cluster
  readonly #alias: string
  readonly #comparedMax: number
  readonly #profiles: Profiles
  readonly #counts: IndexCounts
  readonly #large: LargeScopes = new LRUCache({ max: largeScopesMax })
  #purging: { readonly position: number; readonly purge: IndexPurge } | null = null

  constructor(options: OpenSearchIndexOptions) {
    this.#cluster = options.cluster
    this.#alias = options.alias
    this.#comparedMax = options.comparedMax ?? comparedMax
    this.#profiles = new Profiles(options.cluster, options.alias)
    this.#counts = new IndexCounts(options.cluster, options.alias)
  }

  apply(batch: IndexBatch): Promise<ApplyOutcome> {
    return this.#asOutcome(async () => {
      await applyBatch(this.#cluster, this.#alias, this.#profiles, batch)
      return { outcome: 'applied' as const }
    }).then((outcome) =>
      outcome.outcome === 'timed_out'
        ? { outcome: 'unavailable', reason: 'the cluster did not answer in time' }
        : outcome,
    )
  }

  keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    return this.#search(request, (calls) => searchKeyword(calls, request))
  }

  vector(request: VectorRequest): Promise<VectorOutcome> {
    return this.#search(request, (calls) =>
      searchVector(calls, request, this.#profiles, this.#comparedMax, this.#large),
    )
  }

  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    return this.#search(request, (calls) => findSimilarWords(calls, request))
  }

  score(request: ScoreRequest): Promise<ScoreOutcome> {
    return this.#search(request, async (calls) => {
      const { query, documentIds } = request
      const dimensionsOf = (profileId: string) => this.#profiles.known(profileId, calls.timeLeftMs)
      const [words, near] = await Promise.all([
        query === null ? [] : keywordScores(calls, { ...request, query }),
        Promise.all(request.vectors.map(async (one) => vectorScores(request, one, await dimensionsOf(one.profileId)))),
      ])
      const found = await calls.searchTogether<DocumentScores[]>([...words, ...near])
      const [byWords, byVectors] = [found.slice(0, words.length), found.slice(words.length)]
      const scores = documentIds.map((documentId) => ({
        documentId,
        keyword: byWords.map((one) => one?.get(documentId)).find((score) => score !== undefined) ?? null,
        vectors: byVectors.map((one) => one?.get(documentId) ?? null),
      }))
      return { outcome: 'found' as const, scores }
    })
  }

  values(request: ValuesRequest): Promise<ValuesOutcome> {
    return this.#search(request, (calls) => listValues(calls, request))
  }

  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    return this.#search(request, (calls) => listWithoutVector(calls, request))
  }

  async position(): Promise<number> {
    return (await withErrorCode(readPosition(this.#cluster, this.#alias, positionMs))).position
  }

  health(): Promise<IndexHealth> {
    return withErrorCode(reportHealth(this.#cluster, this.#alias, this.#counts))
  }

  /** Does nothing, because all acknowledged writes are on the cluster's disks. */
  async checkpoint(): Promise<void> {}

  async purge(): Promise<void> {
    this.#purging ??= { position: await this.position(), purge: new IndexPurge(this.#cluster, this.#alias) }
    const { position, purge } = this.#purging
    if (!(await purge.step())) return
    await writePurged(this.#cluster, this.#alias, position)
    this.#purging = null
  }

  async clear(): Promise<void> {
    await emptyIndex(this.#cluster, this.#alias)
    this.#profiles.forget()
    this.#purging = null
  }

  /** Does nothing, because idle connections close by themselves. */
  async close(): Promise<void> {}

  async #search<Page>(
    { timeoutMs }: { readonly timeoutMs: number },
    work: (calls: SearchCalls) => Promise<Page>,
  ): Promise<Page | TimedOut | Unavailable> {
    if (timeoutMs <= 0) return { outcome: 'timed_out' }
    return this.#asOutcome(() => work(new SearchCalls(this.#cluster, this.#alias, timeoutMs)))
  }

  async #asOutcome<Page>(work: () => Promise<Page>): Promise<Page | TimedOut | Unavailable> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ClusterTimeout) return { outcome: 'timed_out' }
      if (error instanceof ClusterError) return { outcome: 'unavailable', reason: error.message }
      throw error
    }
  }
}

const positionMs = 5000

/** Converts errors of the cluster to errors with an error code. */
async function withErrorCode<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof ClusterTimeout || error instanceof ClusterError)) throw error
    throw new TidemarkError('search_backend_unavailable', error.message, { cause: error })
  }
}
