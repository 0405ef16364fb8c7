import { hash } from 'node:crypto'

/** Raised whenever an index of an earlier version could not be gone on from: such a one is not served, but made anew. */
export const mappingFormat = 1

/** Where the nested chunks are. */
export const chunksPath = 'chunks'
/** A field of a chunk by its whole name. */
export const ofChunk = (name: string): string => `${chunksPath}.${name}`

/** The vectors of a profile are a field of their own, because a field has one number of dimensions for good. */
export const vectorField = (profileId: string, dimensions: number): string =>
  `v${hash('sha256', `${dimensions} ${profileId}`).slice(0, 24)}`

export const vectorMapping = (dimensions: number) => ({
  type: 'knn_vector',
  dimension: dimensions,
  method: { name: 'hnsw', engine: 'lucene', space_type: 'cosinesimil', parameters: { m: 16, ef_construction: 128 } },
})

/** Longer values than Lucene takes are kept, and found by nothing. */
const keyword = { type: 'keyword', ignore_above: 8191 }
const kept = { index: false, doc_values: false }

/** What a chunk and its document both have: scope and filters look at chunks, facets and orders at documents. */
const sharedColumns = {
  dataset: keyword,
  platform: keyword,
  region: keyword,
  content_type: keyword,
  status: keyword,
  language: keyword,
  // Whole numbers, but beyond what a long holds: as they are compared everywhere else.
  published_at: { type: 'double' },
  score: { type: 'double' },
}

/** The score of a term or phrase is how often it stands there: the rest of BM25 is ours (keyword-query.ts). */
const terms = { type: 'text', analyzer: 'terms', similarity: 'frequency', norms: false }

/** Chunks of one document at most, all versions, as the embedded index has it. */
export const documentChunksMax = 65_536

const indexSettings = {
  // A second copy where there is a second node to have it.
  auto_expand_replicas: '0-1',
  // What was acknowledged is on disk, and is made visible by who writes it.
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

/** What an index is told when it is made. `meta` is ours alone. */
export const indexDefinition = (meta: object, shards: number) => ({
  settings: { index: { ...indexSettings, number_of_shards: shards }, analysis },
  mappings: {
    _meta: meta,
    dynamic: 'strict',
    properties: {
      id: keyword,
      // Of the last batch of the feed that changed it.
      at: { type: 'long', ...kept },
      // Of the one document that says how far the index is fed.
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
          // The profiles of which it has a vector.
          profiles: keyword,
        },
      },
    },
  },
})
