import { hash } from 'node:crypto'

/** Raise it whenever an index of an earlier version cannot be continued: such an index is not served, but rebuilt. */
export const mappingFormat = 2

/** The path of the nested chunks. */
export const chunksPath = 'chunks'
/** The full name of a chunk's field. */
export const ofChunk = (name: string): string => `${chunksPath}.${name}`

/** Each profile has its own vector field, because the number of dimensions of a field cannot change. */
export const vectorField = (profileId: string, dimensions: number): string =>
  `v${hash('sha256', `${dimensions} ${profileId}`).slice(0, 24)}`

export const vectorMapping = (dimensions: number) => ({
  type: 'knn_vector',
  dimension: dimensions,
  method: { name: 'hnsw', engine: 'lucene', space_type: 'cosinesimil', parameters: { m: 16, ef_construction: 128 } },
})

/** Values that are too long for Lucene are stored, but not found. */
const keyword = { type: 'keyword', ignore_above: 8191 }
const kept = { index: false, doc_values: false }

/** Columns of both a chunk and its document: scope and filters use the chunks, facets and orders the documents. */
const sharedColumns = {
  dataset: keyword,
  platform: keyword,
  region: keyword,
  content_type: keyword,
  status: keyword,
  language: keyword,
  // Whole numbers that may be too large for a long, compared as doubles everywhere.
  published_at: { type: 'double' },
  score: { type: 'double' },
}

/** The score of a term or phrase is its frequency; keyword-query.ts does the rest of BM25. */
const terms = { type: 'text', analyzer: 'terms', similarity: 'frequency', norms: false }

/** The largest number of chunks of a document, with all versions, as in the embedded index. */
export const documentChunksMax = 65_536

const indexSettings = {
  // One replica, if there is a second node.
  auto_expand_replicas: '0-1',
  // Acknowledged writes are on disk; the writer makes them visible.
  translog: { durability: 'request' },
  refresh_interval: '-1',
  knn: true,
  max_inner_result_window: documentChunksMax,
  max_regex_length: 4000,
  mapping: { nested_objects: { limit: documentChunksMax } },
  similarity: { frequency: { type: 'scripted', script: { source: 'return query.boost * doc.freq;' } } },
}

const analysis = {
  analyzer: { terms: { type: 'custom', tokenizer: 'places', filter: ['alternatives', 'holes'] } },
  tokenizer: { places: { type: 'whitespace', max_token_length: 1_048_576 } },
  filter: {
    alternatives: { type: 'pattern_capture', preserve_original: false, patterns: ['([^|]+)'] },
    holes: { type: 'stop', stopwords: ['%'] },
  },
}

/** Settings and mappings of a new index. Only Tidemark reads `meta`. */
export const indexDefinition = (meta: object, shards: number) => ({
  settings: { index: { ...indexSettings, number_of_shards: shards }, analysis },
  mappings: {
    _meta: meta,
    dynamic: 'strict',
    properties: {
      id: keyword,
      // The last batch of the feed that changed the document.
      at: { type: 'long', ...kept },
      // Only in the document that has the position of the index.
      position: { type: 'long', ...kept },
      purgedThrough: { type: 'long', ...kept },
      ...sharedColumns,
      author: keyword,
      topics: keyword,
      tags: keyword,
      classifications: keyword,
      day: keyword,
      week: keyword,
      month: keyword,
      [chunksPath]: {
        type: 'nested',
        dynamic: 'strict',
        properties: {
          ...sharedColumns,
          chunk: keyword,
          version: keyword,
          current: { type: 'boolean' },
          first: { type: 'boolean' },
          title: terms,
          title_length: { type: 'double', index: false },
          title_words: keyword,
          body: terms,
          body_length: { type: 'double', index: false },
          body_words: keyword,
          has_body: { type: 'boolean' },
          // The profiles of which the chunk has a vector.
          profiles: keyword,
        },
      },
    },
  },
})
