import { searchLimits as limits } from '../../src/search/limits.ts'
import { corpus, dimensions } from '../corpus/corpus.ts'
import { fillerWords, textOf, titleOf } from '../corpus/texts.ts'
import { Bulks } from '../support/bulks.ts'
import { Client, parsed } from '../support/client.ts'
import { progress } from '../support/progress.ts'
import type { Question } from './questions.ts'

const index = 'peer'
const pipeline = 'peer-hybrid'

/**
 * The same documents in a typical OpenSearch layout: one OpenSearch document per chunk, with word offsets for
 * highlights. Results are collapsed to the best chunk of each document. Words that are not in Tidemark's index are left out here too.
 */
const settings = {
  settings: {
    number_of_shards: 1,
    number_of_replicas: 0,
    'index.knn': true,
    refresh_interval: '-1',
    analysis: {
      filter: { fillers: { type: 'stop', stopwords: fillerWords } },
      analyzer: { words: { type: 'custom', tokenizer: 'standard', filter: ['lowercase', 'fillers'] } },
    },
  },
  mappings: {
    properties: {
      document_id: { type: 'keyword' },
      dataset_id: { type: 'keyword' },
      source_platform: { type: 'keyword' },
      language: { type: 'keyword' },
      content_type: { type: 'keyword' },
      published_at: { type: 'date' },
      title: { type: 'text', analyzer: 'words' },
      body: { type: 'text', analyzer: 'words', index_options: 'offsets' },
      vector: {
        type: 'knn_vector',
        dimension: dimensions,
        method: { name: 'hnsw', engine: 'lucene', space_type: 'cosinesimil' },
      },
    },
  },
}

const shownFields = [
  'document_id',
  'dataset_id',
  'source_platform',
  'language',
  'content_type',
  'published_at',
  'title',
]

export class OpenSearchPeer {
  readonly #client: Client

  constructor(url: string) {
    this.#client = new Client(url, 'none')
  }

  /** Returns the process ID of the server. */
  async pid(): Promise<number> {
    const { nodes } = await this.#client.call('GET', '/_nodes/process')
    return (Object.values(nodes)[0] as { process: { id: number } }).process.id
  }

  async diskBytes(): Promise<number> {
    return (await this.#client.call('GET', `/${index}/_stats/store`))._all.total.store.size_in_bytes
  }

  /** Returns whether it was filled before. */
  async has(chunks: number): Promise<boolean> {
    const { status, text } = await this.#client.send('GET', `/${index}/_count`)
    return status === 200 && JSON.parse(text).count === chunks
  }

  /** Adds all chunks of the corpus, and merges them into one segment. */
  async fill(chunks: number): Promise<void> {
    await this.#client.call('PUT', `/${index}`, settings)
    await this.#client.call('PUT', `/_search/pipeline/${pipeline}`, {
      phase_results_processors: [
        {
          'normalization-processor': {
            normalization: { technique: 'min_max' },
            combination: { technique: 'arithmetic_mean' },
          },
        },
      ],
    })
    const startedMs = performance.now()
    const bulks = new Bulks(this.#client, index, (sent) => progress(`OpenSearch: ${sent} of ${chunks} chunks`))
    for (const put of corpus(chunks, true)) {
      const { documentId, columns } = put
      for (const { chunkId, body, vectors } of put.chunks) {
        const source = {
          document_id: documentId,
          dataset_id: columns.datasetId,
          source_platform: columns.platform,
          language: columns.language,
          content_type: columns.contentType,
          published_at: columns.publishedAt,
          title: titleOf(put),
          body: textOf(body),
          vector: Array.from(vectors[0]!.vector),
        }
        await bulks.add(chunkId, JSON.stringify(source))
      }
    }
    await bulks.end()
    const seconds = (performance.now() - startedMs) / 1000
    progress('OpenSearch: merging into one segment')
    await this.#client.call('POST', `/${index}/_forcemerge?max_num_segments=1`)
    await this.#client.call('POST', `/${index}/_refresh`)
    progress('')
    const mergedSeconds = (performance.now() - startedMs) / 1000
    console.log(
      `OpenSearch: ${(bulks.sent / seconds).toFixed(0)} chunks a second, merged after ${mergedSeconds.toFixed(0)} s`,
    )
  }

  /** Returns the path and body of a search. Called before the clock runs. */
  request(question: Question): { readonly path: string; readonly body: string } {
    const { mode, text, vector, datasets, highlights } = question
    const filter = datasets === null ? [] : [{ terms: { dataset_id: datasets } }]
    const words = { multi_match: { query: text, fields: ['title^3', 'body'] } }
    const k = mode === 'hybrid' ? limits.hybridCandidates : (question.k ?? limits.resultsDefault)
    const near = {
      knn: {
        vector: { vector, k, ...(filter.length === 0 ? {} : { filter: { bool: { filter } } }) },
      },
    }
    const byWords = filter.length === 0 ? words : { bool: { must: [words], filter } }
    const query = { keyword: byWords, vector: near, hybrid: { hybrid: { queries: [byWords, near] } } }[mode]
    const characters = limits.summaryCharactersMax
    const fragments = highlights ? limits.highlightsMax : 1
    const body = {
      size: limits.resultsDefault,
      track_total_hits: true,
      _source: shownFields,
      query,
      // Totals count chunks, because a hybrid query cannot count collapsed results.
      collapse: { field: 'document_id' },
      highlight: {
        highlight_query: { multi_match: { query: text, fields: ['title', 'body'] } },
        fields: {
          body: {
            fragment_size: Math.floor(characters / fragments),
            number_of_fragments: fragments,
            no_match_size: characters,
          },
          ...(highlights ? { title: { number_of_fragments: 0 } } : {}),
        },
      },
    }
    const parameters = mode === 'hybrid' ? `?search_pipeline=${pipeline}` : ''
    return { path: `/${index}/_search${parameters}`, body: JSON.stringify(body) }
  }

  async documentsOf(question: Question): Promise<string[]> {
    const { path, body } = this.request(question)
    const { hits } = parsed(await this.#client.send('POST', path, body))
    return hits.hits.map((hit: { _source: { document_id: string } }) => hit._source.document_id)
  }

  send({ path, body }: ReturnType<OpenSearchPeer['request']>) {
    return this.#client.send('POST', path, body)
  }
}
