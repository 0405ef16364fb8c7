import type { ChunkScore } from '../../search/search-index.ts'
import { type Cluster, type ClusterCall, ClusterError, ClusterTimeout } from './cluster.ts'
import { chunkField, chunksPath } from './mapping.ts'
import type { Query } from './scope-query.ts'

/** The calls that one search request makes to the cluster, with a common deadline. */
export class SearchCalls {
  readonly #cluster: Cluster
  readonly #index: string
  readonly #deadline: number

  constructor(cluster: Cluster, index: string, timeoutMs: number) {
    this.#cluster = cluster
    this.#index = index
    this.#deadline = performance.now() + timeoutMs
  }

  /** The time left for other calls of the request. */
  get timeLeftMs(): number {
    return this.#deadline - performance.now()
  }

  async search<Answer>(body: object): Promise<Answer> {
    const answer = await this.#call<Answer & SearchAnswer>({
      path: `/${this.#index}/_search`,
      query: searchQuery,
      body,
    })
    return checkedAnswer(answer)
  }

  /** Searches for documents and reads only their columns, not the stored source with its vectors. */
  async documents<Answer = unknown>(body: object): Promise<Answer & { readonly found: readonly FoundDocument[] }> {
    const answer = await this.search<Answer & FoundDocuments>(byColumns(body))
    return { ...answer, found: foundBy(answer) }
  }

  async run<T>({ body, read }: Search<T>): Promise<T> {
    return read(await this.search(body))
  }

  /**
   * Sends several searches in one `_msearch` request, because the exchange is most of the cost of a search for this
   * process. The answer comes when the slowest search is done, and the call fails if one of them fails. Null searches
   * are left out.
   */
  async searchTogether<T extends readonly unknown[]>(
    searches: {
      readonly [K in keyof T]: Search<T[K]> | null
    },
  ): Promise<{ [K in keyof T]: T[K] | null }>
  async searchTogether(searches: readonly (Search<unknown> | null)[]): Promise<unknown[]> {
    const present = searches.filter((one) => one !== null)
    if (present.length > 1) {
      const responses = await this.#multiSearch(present.map(({ body }) => body))
      if (responses !== null) {
        const answers = responses.values()
        return searches.map((one) => (one === null ? null : one.read(checkedAnswer(answers.next().value))))
      }
    }
    return Promise.all(searches.map((one) => one && this.run(one)))
  }

  /** Returns null if the cluster refuses `_msearch`, which needs a privilege of its own. */
  async #multiSearch(bodies: readonly object[]): Promise<readonly SearchAnswer[] | null> {
    const header = JSON.stringify({ index: this.#index, ...completeOnly })
    try {
      const { responses } = await this.#call<{ readonly responses?: unknown }>({
        path: '/_msearch',
        query: multiSearchQuery,
        lines: bodies.flatMap((body) => [header, JSON.stringify(body)]),
      })
      return Array.isArray(responses) ? responses : []
    } catch (error) {
      if (!(error instanceof ClusterError && error.status === 403)) throw error
      return null
    }
  }

  #call<Answer>(call: Pick<ClusterCall, 'path' | 'query' | 'body' | 'lines'>): Promise<Answer> {
    return this.#cluster.call<Answer>({ method: 'POST', ...call, idempotent: true, timeoutMs: this.timeLeftMs })
  }
}

/** Without this, the cluster would return results without those of failed shards. */
const completeOnly = { allow_partial_search_results: false }

function checkedAnswer<Answer extends SearchAnswer>(answer: Answer | null | undefined): Answer {
  const { error, status = 0, _shards } = answer ?? {}
  if (error !== undefined)
    throw new ClusterError(`OpenSearch answered a search with ${status} ${error.type}`, status, error.type)
  // A proxy in between may return anything.
  if (typeof _shards?.failed !== 'number')
    throw new ClusterError('the response is not that of a search', 502, 'no_answer')
  if (answer!.timed_out) throw new ClusterTimeout('a shard did not answer in time')
  if (_shards.failed > 0) throw new ClusterError('a shard did not answer', 503, 'shard_failed')
  return answer!
}

const columnsOnly = { stored_fields: '_none_', _source: false }

const byColumns = (body: object): object => ({ ...body, ...columnsOnly, docvalue_fields: ['id'] })

const foundBy = ({ hits }: FoundDocuments): readonly FoundDocument[] => hits?.hits ?? []

/** The parts of a response that are read. The rest, such as where hits are stored, is more than half of it. */
const readParts = [
  ...['timed_out', '_shards.failed', 'aggregations', 'hits.total'],
  ...['hits.hits.fields', 'hits.hits.sort'],
  ...['fields', 'sort', '_source'].map((name) => `hits.hits.inner_hits.${chunksPath}.hits.hits.${name}`),
]
const searchQuery = { ...completeOnly, filter_path: readParts.join() }
const multiSearchQuery = {
  filter_path: [...readParts, 'error.type', 'status'].map((name) => `responses.${name}`).join(),
}

interface SearchAnswer {
  readonly timed_out: boolean
  readonly _shards: { readonly failed: number }
  /** Present instead of the other fields if one search of several failed. */
  readonly error?: { readonly type: string }
  readonly status?: number
}

/** A search, and the function that reads its answer. */
export interface Search<T> {
  readonly body: object
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of its answer.
  read(answer: any): T
}

/** A search for documents with their columns only, and the function that reads the hits. */
export const documentSearch = <T>(body: object, read: (found: readonly FoundDocument[]) => T): Search<T> => ({
  body: byColumns(body),
  read: (answer) => read(foundBy(answer)),
})

/** The best chunk of each document with a match. */
export type DocumentScores = ReadonlyMap<string, ChunkScore>

/** Matching chunks of a document, best first. */
interface FoundChunk {
  readonly fields: Readonly<Record<string, readonly string[]>>
  readonly sort: readonly [score: number, chunkId: string]
  readonly _source?: unknown
}

export interface FoundDocument {
  readonly fields: { readonly id: readonly [string] }
  readonly sort: readonly (number | string)[]
  readonly inner_hits: { readonly [chunksPath]: { readonly hits: { readonly hits: readonly FoundChunk[] } } }
}

interface FoundDocuments {
  /** Absent, or without hits, if there are none: the cluster leaves out empty parts. */
  readonly hits?: { readonly hits?: readonly FoundDocument[] }
}

interface ChunkFields {
  readonly source?: readonly string[]
  readonly columns?: readonly 'language'[]
}

/** Ranks documents by their best chunk, and returns the best chunks of each. */
export const withBestChunks = (
  query: Query,
  chunks: number,
  { source = [], columns = [] }: ChunkFields = {},
): Query => ({
  nested: {
    path: chunksPath,
    score_mode: 'max',
    query,
    inner_hits: {
      size: chunks,
      ...(source.length === 0 ? columnsOnly : { _source: source.map(chunkField) }),
      docvalue_fields: ['version', ...columns].map(chunkField),
      sort: [{ _score: 'desc' }, { [chunkField('chunk')]: 'asc' }],
    },
  },
})

export const idOf = ({ fields }: FoundDocument): string => fields.id[0]

export const chunksOf = (found: FoundDocument) =>
  found.inner_hits[chunksPath].hits.hits.map(({ fields, sort, _source }) => ({
    chunkId: sort[1],
    versionId: fields[chunkField('version')]![0]!,
    score: sort[0],
    source: _source,
  }))

/** The language of the version of the best chunk. */
export const languageOf = (found: FoundDocument): string | undefined =>
  found.inner_hits[chunksPath].hits.hits[0]!.fields[chunkField('language')]?.[0]
