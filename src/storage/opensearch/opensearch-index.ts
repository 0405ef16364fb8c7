import { TidemarkError } from '../../errors.ts'
import type {
  ApplyOutcome,
  CountOutcome,
  CountRequest,
  IndexBatch,
  IndexHealth,
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SearchIndex,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  TimedOut,
  Unavailable,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../search/search-index.ts'
import { applyBatch, readPosition, writePurged } from './apply-batch.ts'
import { type Cluster, ClusterTimeout, ClusterTrouble } from './cluster.ts'
import { countVisible, listWithoutVector } from './count-chunks.ts'
import { CountedQueries } from './counted-queries.ts'
import { IndexCounts } from './index-counts.ts'
import { emptyIndex } from './index-names.ts'
import { LargeScopes } from './large-scopes.ts'
import { listValues } from './list-values.ts'
import { Profiles } from './profiles.ts'
import { purgeIndex } from './purge-index.ts'
import { reportHealth } from './report-health.ts'
import { SearchCalls } from './search-calls.ts'
import { scoreKeyword, searchKeyword } from './search-keyword.ts'
import { comparedMax, scoreVector, searchVector } from './search-vector.ts'
import { findSimilarWords } from './similar-words.ts'
import { withOtherScores } from './tell-others.ts'

export interface OpenSearchIndexOptions {
  readonly cluster: Cluster
  /** The alias of its generation. */
  readonly alias: string
  /** Vectors that are compared one by one, at most; of more, the graph chooses which. */
  readonly comparedMax?: number
}

/** The port's adapter: what is searched is in the cluster, and this process keeps nothing that an answer is made of. */
export class OpenSearchIndex implements SearchIndex {
  readonly isSound = true
  readonly #cluster: Cluster
  readonly #alias: string
  readonly #comparedMax: number
  readonly #profiles: Profiles
  readonly #counts: IndexCounts
  readonly #large = new LargeScopes()
  readonly #counted = new CountedQueries()

  constructor(options: OpenSearchIndexOptions) {
    this.#cluster = options.cluster
    this.#alias = options.alias
    this.#comparedMax = options.comparedMax ?? comparedMax
    this.#profiles = new Profiles(options.cluster, options.alias)
    this.#counts = new IndexCounts(options.cluster, options.alias)
  }

  apply(batch: IndexBatch): Promise<ApplyOutcome> {
    return this.#or(async () => {
      await applyBatch(this.#cluster, this.#alias, this.#profiles, batch)
      return { outcome: 'applied' as const }
    }).then((outcome) =>
      outcome.outcome === 'timed_out'
        ? { outcome: 'unavailable', reason: 'the cluster did not answer in time' }
        : outcome,
    )
  }

  keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    return this.#search(request, async (calls) =>
      withOtherScores(
        calls,
        request,
        await searchKeyword(calls, request, this.#counted),
        this.#profiles,
        this.#counted,
      ),
    )
  }

  vector(request: VectorRequest): Promise<VectorOutcome> {
    return this.#search(request, (calls) =>
      searchVector(calls, request, this.#profiles, this.#comparedMax, this.#large, this.#counted),
    )
  }

  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    return this.#search(request, (calls) => findSimilarWords(calls, request))
  }

  score(request: ScoreRequest): Promise<ScoreOutcome> {
    return this.#search(request, async (calls) => {
      const { query, vector } = request
      const [keywords, vectors] = await Promise.all([
        query === null ? null : scoreKeyword(calls, { ...request, query }),
        vector === null
          ? null
          : scoreVector(calls, { ...request, vector }, await this.#profiles.known(vector.profileId)),
      ])
      const scores = request.documentIds.map((documentId) => ({
        documentId,
        keyword: keywords?.get(documentId) ?? null,
        vector: vectors?.get(documentId) ?? null,
      }))
      return { outcome: 'found' as const, scores }
    })
  }

  count(request: CountRequest): Promise<CountOutcome> {
    return this.#search(request, (calls) => countVisible(calls, request))
  }

  values(request: ValuesRequest): Promise<ValuesOutcome> {
    return this.#search(request, (calls) => listValues(calls, request))
  }

  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    return this.#search(request, (calls) => listWithoutVector(calls, request))
  }

  async position(): Promise<number> {
    return (await inOurWords(readPosition(this.#cluster, this.#alias, positionMs))).position
  }

  health(): Promise<IndexHealth> {
    return inOurWords(reportHealth(this.#cluster, this.#alias, this.#counts))
  }

  /** All that was acknowledged is on the cluster's disks. */
  async checkpoint(): Promise<void> {}

  async purge(): Promise<void> {
    const position = await this.position()
    await purgeIndex(this.#cluster, this.#alias)
    await writePurged(this.#cluster, this.#alias, position)
  }

  async clear(): Promise<void> {
    await emptyIndex(this.#cluster, this.#alias)
    this.#profiles.forget()
  }

  /** Connections that nobody uses end by themselves. */
  async close(): Promise<void> {}

  async #search<Page>(
    { timeoutMs }: { readonly timeoutMs: number },
    work: (calls: SearchCalls) => Promise<Page>,
  ): Promise<Page | TimedOut | Unavailable> {
    if (timeoutMs <= 0) return { outcome: 'timed_out' }
    return this.#or(() => work(new SearchCalls(this.#cluster, this.#alias, timeoutMs)))
  }

  async #or<Page>(work: () => Promise<Page>): Promise<Page | TimedOut | Unavailable> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ClusterTimeout) return { outcome: 'timed_out' }
      if (error instanceof ClusterTrouble) return { outcome: 'unavailable', reason: error.message }
      throw error
    }
  }
}

const positionMs = 5000

/** What a request may wait for says what is wrong by its code. */
async function inOurWords<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof ClusterTimeout || error instanceof ClusterTrouble)) throw error
    throw new TidemarkError('search_backend_unavailable', error.message, { cause: error })
  }
}
