import assert from 'node:assert/strict'
import { until } from '../support/until.ts'
import { type Sent, send } from './content.ts'
import { FakeEmbedding } from './fake-embedding.ts'
import { type Answer, sharedEmbedding, sharedServer, startServer, type TestServer } from './harness.ts'

/** The world of the search tests: a server with an embedding endpoint in this process, and documents. */
export interface Hit {
  readonly document_id: string
  readonly version_id: string
  readonly best_chunk_id: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly title?: string | null
  readonly content_type?: string | null
  readonly language?: string | null
  readonly published_at?: string | null
  readonly body?: string
  readonly origin: string
  readonly score: number
  readonly keyword_score: number | null
  readonly vector_score: number | null
  readonly rerank_score: number | null
  readonly explanation?: Readonly<
    Partial<Record<'keyword' | 'vector' | 'fusion' | 'rerank', Readonly<Record<string, number>>>>
  >
  readonly highlights?: string[]
  readonly matched_chunks?: { chunk_id: string; chunk_index: number; body?: string; score: number }[]
}

export interface Found {
  readonly mode: string
  readonly results: Hit[]
  readonly total: number
  readonly total_documents: number
  readonly total_chunks: number
  readonly top_k: number
  readonly cursor?: string
  readonly corrections?: { from: string; to: string }[]
  readonly facets?: unknown
  readonly facets_exact?: boolean
  readonly degraded: boolean
  readonly warnings: { code: string; message: string }[]
  readonly live_query: Answer['body']
}

export class SearchWorld {
  readonly server: TestServer
  readonly embedding: FakeEmbedding
  /** The key of an application that may read everything. */
  readonly key: string
  readonly collector: string
  readonly #names = new Map<string, string>()

  constructor(server: TestServer, embedding: FakeEmbedding, key: string, collector: string) {
    this.server = server
    this.embedding = embedding
    this.key = key
    this.collector = collector
  }

  /** Sends documents and records their external ids, which tests use as names. */
  async put(...documents: readonly Sent[]): Promise<void> {
    const results = await send(this.server, this.collector, documents)
    for (const [i, result] of results.entries()) {
      assert.equal(result.error, undefined, JSON.stringify(result.error))
      this.#names.set(result.document_id!, String(documents[i]!.external_id))
    }
  }

  /** The same, and waits until everything can be found by words and by vectors. */
  async putIndexed(...documents: readonly Sent[]): Promise<void> {
    await this.put(...documents)
    await this.indexed()
  }

  async indexed(): Promise<void> {
    await until('everything is indexed', async () => (await this.indexing()).pending_chunks === 0)
  }

  async indexing(): Promise<Answer['body']> {
    return this.server.mustAdmin('GET', '/admin/v1/indexing')
  }

  raw(body: object, path = '/v1/search', key: string = this.key): Promise<Answer> {
    return this.server.consumer(key, 'POST', path, body)
  }

  /** Searches. Throws if the search fails. */
  async search(body: object, path = '/v1/search', key: string = this.key): Promise<Found> {
    const answer = await this.raw(body, path, key)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  /** External ids in the order of the results. */
  async names(body: object, key: string = this.key): Promise<string[]> {
    return this.namesOf((await this.search(body, '/v1/search', key)).results)
  }

  namesOf(hits: readonly Pick<Hit, 'document_id'>[]): string[] {
    return hits.map(({ document_id }) => this.#names.get(document_id) ?? document_id)
  }

  async application(entitlements: readonly object[], policy: object = {}): Promise<string> {
    return (await this.server.makeApplication({ entitlements, policy })).key
  }
}

/** On the server that several files share, in datasets of this file. */
export async function sharedWorld(datasets: readonly string[]): Promise<SearchWorld> {
  return worldOn(await sharedServer(), await sharedEmbedding(), datasets)
}

export async function startWorld(
  options: {
    readonly datasets?: readonly string[]
    readonly embedding?: FakeEmbedding
    readonly dataDir?: string
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<SearchWorld> {
  const embedding = options.embedding ?? (await new FakeEmbedding().start())
  const server = await startServer({
    env: { ...embedding.env, TIDEMARK_LOG_LEVEL: 'warn', ...options.env },
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
  })
  return worldOn(server, embedding, options.datasets ?? ['news', 'forum'])
}

async function worldOn(
  server: TestServer,
  embedding: FakeEmbedding,
  datasets: readonly string[],
): Promise<SearchWorld> {
  for (const dataset of datasets) await server.makeDataset(dataset)
  const { key } = await server.makeApplication({ entitlements: [{ datasets }] })
  const { key: collector } = await server.makeCollector()
  return new SearchWorld(server, embedding, key, collector)
}

export const codes = ({ warnings }: Found): string[] => warnings.map(({ code }) => code)
