import type { ToldColumns } from '../../search/search-index.ts'
import { type Cluster, type ClusterCall, ClusterTimeout, ClusterTrouble } from './cluster.ts'
import { chunksPath, ofChunk } from './mapping.ts'
import type { Query } from './scope-query.ts'

/** The searches of one request to the port, which have its time together. */
export class SearchCalls {
  readonly #cluster: Cluster
  readonly #index: string
  readonly #deadline: number

  constructor(cluster: Cluster, index: string, timeoutMs: number) {
    this.#cluster = cluster
    this.#index = index
    this.#deadline = performance.now() + timeoutMs
  }

  async search<Answer>(body: object): Promise<Answer> {
    const answer = await this.#call<Answer & SearchAnswer>({
      path: `/${this.#index}/_search`,
      query: searchQuery,
      body,
    })
    return wholeAnswer(answer)
  }

  /** Documents that match, by their columns alone: what is stored of them, vectors and all, is not unpacked for it. */
  async documents<Answer = unknown>(
    body: object,
    columns?: readonly ToldColumn[],
  ): Promise<Answer & { readonly found: readonly FoundDocument[] }> {
    const answer = await this.search<Answer & FoundDocuments>(byColumns(body, columns))
    return { ...answer, found: foundBy(answer) }
  }

  async ask<T>({ body, read }: Search<T>): Promise<T> {
    return read(await this.search(body))
  }

  /**
   * Several at once, in one exchange: to send something and to hear of its answer is most of what a search costs a process.
   * They are answered when the slowest is, and fail where one does. What is null is not asked.
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

  /** Null where the cluster refuses to take several at once: that is a right of its own, which the user may not have. */
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
    const timeoutMs = this.#deadline - performance.now()
    return this.#cluster.call<Answer>({ method: 'POST', ...call, harmless: true, timeoutMs })
  }
}

/** What some shards did not answer must not look whole. */
const wholeOnly = { allow_partial_search_results: false }

function wholeAnswer<Answer extends SearchAnswer>(answer: Answer | null | undefined): Answer {
  const { error, status = 0, _shards } = answer ?? {}
  if (error !== undefined) throw new ClusterTrouble(`a search was answered ${status} ${error.type}`, status, error.type)
  // Some proxy between may say anything.
  if (typeof _shards?.failed !== 'number')
    throw new ClusterTrouble('what came is no answer to a search', 502, 'no_answer')
  if (answer!.timed_out) throw new ClusterTimeout('a shard did not answer in time')
  if (_shards.failed > 0) throw new ClusterTrouble('a shard did not answer', 503, 'shard_failed')
  return answer!
}

const columnsAlone = { stored_fields: '_none_', _source: false }

const byColumns = (body: object, columns: readonly ToldColumn[] = ['id']): object => ({
  ...body,
  ...columnsAlone,
  docvalue_fields: columns,
})

const foundBy = ({ hits }: FoundDocuments): readonly FoundDocument[] => hits?.hits ?? []

/** The rest of an answer, more than half of it, says of every hit where it is stored. */
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
  /** In place of the others, of one that was asked together with others. */
  readonly error?: { readonly type: string }
  readonly status?: number
}

type ToldColumn = 'id' | 'published_at'

/** A search, and what is made of its answer. */
export interface Search<T> {
  readonly body: object
  // biome-ignore lint/suspicious/noExplicitAny: as who asks knows it.
  read(answer: any): T
}

/** A search for documents, by their columns alone, and what is made of those that it finds. */
export const documentSearch = <T>(
  body: object,
  read: (found: readonly FoundDocument[]) => T,
  columns?: readonly ToldColumn[],
): Search<T> => ({ body: byColumns(body, columns), read: (answer) => read(foundBy(answer)) })

/** Chunks that a search found in a document, the best first. */
interface FoundChunk {
  readonly fields: Readonly<Record<string, readonly (string | number)[]>>
  readonly sort: readonly [score: number, chunkId: string]
  readonly _source?: unknown
}

export interface FoundDocument {
  readonly fields: { readonly id: readonly [string]; readonly published_at?: readonly [number] }
  readonly sort: readonly (number | string)[]
  readonly inner_hits: { readonly [chunksPath]: { readonly hits: { readonly hits: readonly FoundChunk[] } } }
}

interface FoundDocuments {
  /** Absent, or without hits, where there are none: the cluster leaves out what nothing is left of. */
  readonly hits?: { readonly hits?: readonly FoundDocument[] }
}

interface ToldOfChunks {
  readonly source?: readonly string[]
  readonly columns?: readonly ('language' | 'title_length')[]
}

/** Documents by their best chunk, with their best chunks. */
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
    versionId: fields[ofChunk('version')]![0] as string,
    score: sort[0],
    source: _source,
  }))

/** Of the version of the best chunk. */
export const languageOf = (found: FoundDocument): string | undefined =>
  ofBestChunk(found, 'language') as string | undefined

const ofBestChunk = (found: FoundDocument, column: string): string | number | undefined =>
  found.inner_hits[chunksPath].hits.hits[0]!.fields[ofChunk(column)]?.[0]

/** What is to be asked for so that documents tell their columns. */
export const toldColumns = {
  ofDocuments: ['id', 'published_at'],
  ofChunks: ['language', 'title_length'],
} as const

export const toldOf = (found: FoundDocument): ToldColumns => ({
  language: languageOf(found) ?? null,
  publishedAt: found.fields.published_at?.[0] ?? null,
  titleLength: ofBestChunk(found, 'title_length') as number,
})
