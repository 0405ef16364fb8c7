import { hash } from 'node:crypto'
import { type ColumnRow, documentColumns } from '../../document/rows.ts'

/** Increase it whenever an index of an earlier version cannot be used any more. Such an index is rebuilt. */
export const mappingFormat = 2

/** The path of the nested chunks. */
export const chunksPath = 'chunks'
/** The full name of a chunk's field. */
export const chunkField = (name: string): string => `${chunksPath}.${name}`

/** Each profile has its own vector field, because the number of dimensions of a field cannot change. */
export const vectorField = (profileId: string, dimensions: number): string =>
  `v${hash('sha256', `${dimensions} ${profileId}`).slice(0, 24)}`

export const vectorMapping = (dimensions: number) => ({
  type: 'knn_vector',
  dimension: dimensions,
  method: { name: 'hnsw', engine: 'lucene', space_type: 'cosinesimil', parameters: { m: 16, ef_construction: 128 } },
})

/** Values that are too long for Lucene are stored, but cannot be searched. */
const keyword = { type: 'keyword', ignore_above: 8191 }
const kept = { index: false, doc_values: false }

/** The name of a column in the index: the name of its facet if it has one. */
export const indexField = ({ facet, name }: ColumnRow): string => facet ?? name

/**
 * Whether both chunks and documents have the column. Scope and filters use the column of chunks, facets and sorting
 * that of documents. Sorting by a number must check for each chunk whether it may be read.
 */
const isShared = ({ kind, indexed }: ColumnRow): boolean => indexed === 'columns' || kind === 'integer'
const indexedRows = documentColumns.filter(({ indexed }) => indexed !== undefined)
export const sharedRows = indexedRows.filter(isShared)
export const documentRows = indexedRows.filter((row) => !isShared(row))

// Numbers are compared as doubles everywhere, and times may be too large for a long.
const typeOf = ({ kind }: ColumnRow) => (kind === 'integer' || kind === 'time' ? { type: 'double' } : keyword)
const columnsOf = (rows: readonly ColumnRow[]) => Object.fromEntries(rows.map((row) => [indexField(row), typeOf(row)]))
const sharedColumns = columnsOf(sharedRows)

/** The score of a term or phrase is its frequency; `keyword-query.ts` computes BM25 from it. */
const terms = { type: 'text', analyzer: 'terms', similarity: 'frequency', norms: false }

/** The most chunks of a document, in all versions together. The embedded index has the same limit. */
export const documentChunksMax = 65_536

const indexSettings = {
  // One replica, if there is a second node.
  auto_expand_replicas: '0-1',
  // Acknowledged writes are on disk. Refreshes are explicit, as part of each batch.
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
      // `position` and `purgedThrough` are only in the document that stores the position of the index.
      position: { type: 'long', ...kept },
      purgedThrough: { type: 'long', ...kept },
      ...sharedColumns,
      ...columnsOf(documentRows),
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
          // The profiles for which the chunk has a vector.
          profiles: keyword,
        },
      },
    },
  },
})
