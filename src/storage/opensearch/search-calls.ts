import type { ChunkScore } from '../../search/search-index.ts'
import { type Cluster, type ClusterCall, ClusterTimeout, ClusterTrouble } from './cluster.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import type { Query } from './scope-query.ts'

/** The calls that one request of the port makes to the cluster, with a common deadline. */
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
    return wholeAnswer(answer)
  }

  /** Matching documents with their columns only: the stored source with its vectors is not read. */
  async documents<Answer = unknown>(body: object): Promise<Answer & { readonly found: readonly FoundDocument[] }> {
    const answer = await this.search<Answer & FoundDocuments>(byColumns(body))
    return { ...answer, found: foundBy(answer) }
  }

  async ask<T>({ body, read }: Search<T>): Promise<T> {
    return read(await this.search(body))
  }

  /**
   * Sends several searches in one exchange: sending a request and receiving its answer is most of what a search costs
   * this process. The answer comes when the slowest search is done, and fails if one fails. Null searches are left out.
   */
  async askTogether<T extends readonly unknown[]>(
    searches: {
      readonly [K in keyof T]: Search<T[K]> | null
    },
  ): Promise<{ [K in keyof T]: T[K] | null }>
  async askTogether(searches: readonly (Search<unknown> | null)[]): Promise<unknown[]> {
    const asked = searches.filter((one) => one !== null)
    if (asked.length > 1) {
      const responses = await this.#answersTogether(asked.map(({ body }) => body))
      if (responses !== null) {
        const answers = responses.values()
        return searches.map((one) => (one === null ? null : one.read(wholeAnswer(answers.next().value))))
      }
    }
    return Promise.all(searches.map((one) => one && this.ask(one)))
  }

  /** Null if the cluster refuses multi-search: that is a privilege of its own, which the user may not have. */
  async #answersTogether(bodies: readonly object[]): Promise<readonly SearchAnswer[] | null> {
    const header = JSON.stringify({ index: this.#index, ...wholeOnly })
    try {
      const { responses } = await this.#call<{ readonly responses?: unknown }>({
        path: '/_msearch',
        query: togetherQuery,
        lines: bodies.flatMap((body) => [header, JSON.stringify(body)]),
      })
      return Array.isArray(responses) ? responses : []
    } catch (error) {
      if (!(error instanceof ClusterTrouble && error.status === 403)) throw error
      return null
    }
  }

  #call<Answer>(call: Pick<ClusterCall, 'path' | 'query' | 'body' | 'lines'>): Promise<Answer> {
    return this.#cluster.call<Answer>({ method: 'POST', ...call, harmless: true, timeoutMs: this.timeLeftMs })
  }
}

/** An answer without some shards must not look complete. */
const wholeOnly = { allow_partial_search_results: false }

function wholeAnswer<Answer extends SearchAnswer>(answer: Answer | null | undefined): Answer {
  const { error, status = 0, _shards } = answer ?? {}
  if (error !== undefined) throw new ClusterTrouble(`a search was answered ${status} ${error.type}`, status, error.type)
  // A proxy in between may return anything.
  if (typeof _shards?.failed !== 'number')
    throw new ClusterTrouble('the response is not an answer to a search', 502, 'no_answer')
  if (answer!.timed_out) throw new ClusterTimeout('a shard did not answer in time')
  if (_shards.failed > 0) throw new ClusterTrouble('a shard did not answer', 503, 'shard_failed')
  return answer!
}

const columnsAlone = { stored_fields: '_none_', _source: false }

const byColumns = (body: object): object => ({ ...body, ...columnsAlone, docvalue_fields: ['id'] })

const foundBy = ({ hits }: FoundDocuments): readonly FoundDocument[] => hits?.hits ?? []

/** Leaves out the rest of an answer, which is more than half of it and says where each hit is stored. */
const readOfAnswers = [
  ...['timed_out', '_shards.failed', 'aggregations', 'hits.total'],
  ...['hits.hits.fields', 'hits.hits.sort'],
  ...['fields', 'sort', '_source'].map((name) => `hits.hits.inner_hits.${chunksPath}.hits.hits.${name}`),
]
const searchQuery = { ...wholeOnly, filter_path: readOfAnswers.join() }
const togetherQuery = {
  filter_path: [...readOfAnswers, 'error.type', 'status'].map((name) => `responses.${name}`).join(),
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

/** The best chunk of each document that has one. */
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

interface ToldOfChunks {
  readonly source?: readonly string[]
  readonly columns?: readonly 'language'[]
}

/** Documents ranked by their best chunk, with their best chunks. */
export const withBestChunks = (
  query: Query,
  chunks: number,
  { source = [], columns = [] }: ToldOfChunks = {},
): Query => ({
  nested: {
    path: chunksPath,
    score_mode: 'max',
    query,
    inner_hits: {
      size: chunks,
      ...(source.length === 0 ? columnsAlone : { _source: source.map(ofChunk) }),
      docvalue_fields: ['version', ...columns].map(ofChunk),
      sort: [{ _score: 'desc' }, { [ofChunk('chunk')]: 'asc' }],
    },
  },
})

export const idOf = ({ fields }: FoundDocument): string => fields.id[0]

export const chunksOf = (found: FoundDocument) =>
  found.inner_hits[chunksPath].hits.hits.map(({ fields, sort, _source }) => ({
    chunkId: sort[1],
    versionId: fields[ofChunk('version')]![0]!,
    score: sort[0],
    source: _source,
  }))

/** The language of the version of the best chunk. */
export const languageOf = (found: FoundDocument): string | undefined =>
  found.inner_hits[chunksPath].hits.hits[0]!.fields[ofChunk('language')]?.[0]
