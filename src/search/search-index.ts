import type { Scope } from '../access/scope.ts'
import type { CatalogValues, ColumnValues, Conditions, ListedName } from '../document/field-types.ts'
import type { DocumentStatus } from '../document/fields.ts'
import type { KeywordQuery, TermGroup } from '../text/types.ts'
import type { Facet, ValueCount } from './facets.ts'

/**
 * The part of the index that a search uses. The index holds ids, terms, filter columns and vectors; texts stay in the
 * store. `SearchIndex` in `indexing/fed-index.ts` is the whole port and documents the rules for its adapters.
 *
 * Keywords and vectors are two calls: they run in parallel, each with its own time limit, and a search can continue
 * with one if the other times out.
 */
export interface QueriedIndex {
  keyword(request: KeywordRequest): Promise<KeywordOutcome>
  vector(request: VectorRequest): Promise<VectorOutcome>
  /** Scores given documents. Hybrid search uses it for documents that only one of its branches found. */
  score(request: ScoreRequest): Promise<ScoreOutcome>
  /** Words of the visible texts that are similar to the given ones, which may be misspelt. */
  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome>
}

/** The part of the index that lists of values use. */
export interface CountedIndex {
  /** The values that documents have in a field, with the number of documents for each. */
  values(request: ValuesRequest): Promise<ValuesOutcome>
}

/**
 * The columns that scope and filters use. The language is that of the version, all others are those of the document.
 */
export type VersionColumns = ColumnValues

/**
 * The additional columns that keyword searches filter, sort and count by. They belong to the current document. If the
 * scope opens only an earlier version, the document is treated as one without values. Facets and orders use a column if
 * an entry that matches the current document grants its permission (`column-permissions.ts`). Otherwise the document is
 * still found and counted, as one without the value. A scope that is used with conditions must grant their permissions.
 */
export type CatalogColumns = CatalogValues

export type IndexedColumns = VersionColumns & CatalogColumns

export interface ChunkVector {
  readonly profileId: string
  /**
   * Finite numbers, not all zero. The first vector of a profile determines its dimensions. A vector that breaks these
   * rules is ignored.
   */
  readonly vector: ArrayLike<number>
}

/** `null` is no filter, and an empty list matches nothing. A filter never matches a document without the value. */
export interface SearchFilters {
  readonly datasets: readonly string[] | null
  readonly platforms: readonly string[] | null
  readonly languages: readonly string[] | null
  readonly regions: readonly string[] | null
  readonly contentTypes: readonly string[] | null
  readonly statuses: readonly DocumentStatus[] | null
  /** Milliseconds since 1970, inclusive. */
  readonly publishedFrom: number | null
  /** Milliseconds since 1970, exclusive. */
  readonly publishedTo: number | null
  readonly includeNonCurrent: boolean
}

export const noFilters: SearchFilters = {
  datasets: null,
  platforms: null,
  languages: null,
  regions: null,
  contentTypes: null,
  statuses: null,
  publishedFrom: null,
  publishedTo: null,
  includeNonCurrent: false,
}

interface Search {
  readonly scope: Scope
  readonly filters: SearchFilters
  /** Includes waiting for a free reader. */
  readonly timeoutMs: number
}

export interface KeywordRequest extends Search {
  readonly query: KeywordQuery
  /** Return the parts of the score for the best chunk of each hit. */
  readonly explain?: boolean
  readonly limit: number
  /** `next` of the previous page: keyset paging by score, not by offset. */
  readonly after: KeywordPosition | null
  /** `statistics` of the previous page, so that scores stay the same while the index changes. */
  readonly statistics?: readonly number[] | undefined
  /** The largest number of other matching chunks to list for a document. */
  readonly otherChunksMax: number
  /** Default: `relevance`. */
  readonly order?: KeywordOrder
  readonly conditions?: Conditions
  readonly facets?: FacetsRequest
}

/**
 * The sort orders. A minus means descending; `-score` is the platform's score of the document. Documents without the
 * time or score come last in both directions. Ties are ordered by document id.
 */
export const keywordOrders = ['relevance', 'published_at', '-published_at', '-score'] as const
export type KeywordOrder = (typeof keywordOrders)[number]

/**
 * Requests exact counts of all matching documents, which are the same on every page. A document counts once for each of
 * its values. Its language is that of the version of its best chunk.
 */
export interface FacetsRequest {
  readonly of: readonly Facet[]
  /** The most values per facet. The most frequent come first; ties are in the order of their UTF-8 bytes. */
  readonly limit: number
}

export interface SimilarWordsRequest extends Search {
  readonly words: readonly TypedWord[]
  /** Only words of documents that meet the conditions are returned. */
  readonly conditions?: Conditions
  /** Terms of excluded texts. A word that occurs only in these texts is not returned. */
  readonly excluded: TermGroup
  /**
   * The most similar words for each word. Those with fewer edits come first, and then those that occur in more chunks.
   */
  readonly limit: number
}

/** A word of a query, without case and accents. */
export interface TypedWord {
  readonly word: string
  /** The terms that find the word as typed. */
  readonly group: TermGroup
  /** The word is a prefix. Another word is similar if one of its prefixes is. */
  readonly isPrefix: boolean
  /** The largest optimal string alignment distance (Damerau-Levenshtein without editing a letter twice): 1 or 2. */
  readonly editsMax: number
  /**
   * Similar words are only needed if the word matches nothing that the request may read, neither as a word nor as a
   * prefix.
   */
  readonly unlessFound: boolean
}

export interface VectorRequest extends Search {
  readonly profileId: string
  readonly vector: ArrayLike<number>
  /** The number of chunks, before they are grouped by document. */
  readonly topK: number
  /** The index may leave out what is farther than both the nearest `chunks` chunks and the nearest `documents` documents. */
  readonly enough?: EnoughNear | undefined
}

export interface EnoughNear {
  readonly chunks: number
  readonly documents: number
}

/** A vector that documents are compared with, and its own filters. */
export interface NearQuery extends ChunkVector {
  readonly filters: SearchFilters
}

export interface ScoreRequest extends Search {
  readonly documentIds: readonly string[]
  readonly query: KeywordQuery | null
  readonly vectors: readonly NearQuery[]
  /** The keyword scores of these documents are returned with their parts. */
  readonly explain?: readonly string[]
  /**
   * The statistics of a keyword page with the same query and scope. With them, the scores are comparable, and the index
   * need not count again.
   */
  readonly statistics?: readonly number[] | undefined
}

/** Counts documents whose current version the scope opens, whatever fields it grants. */
export interface ValuesRequest {
  readonly scope: Scope
  readonly field: ListedName
  /** Values that begin with exactly this text. */
  readonly prefix: string
  /** `next` of the previous page. */
  readonly after: string | null
  readonly limit: number
  readonly timeoutMs: number
}

export interface KeywordPosition {
  /** The sort key, a score or a time; `null` for a document without one. */
  readonly key: number | null
  readonly documentId: string
}

export interface ChunkScore {
  readonly chunkId: string
  readonly versionId: string
  readonly score: number
  /**
   * If requested, the amount that each clause of the query adds, in their order, then each boost. Their sum is the
   * score.
   */
  readonly parts?: readonly number[]
}

/** One document: its best chunk, and other matching chunks, best first. */
export interface DocumentHit extends ChunkScore {
  readonly documentId: string
  readonly otherChunks: readonly ChunkScore[]
}

export interface Unavailable {
  readonly outcome: 'unavailable'
  readonly reason: string
}
export interface TimedOut {
  readonly outcome: 'timed_out'
}

export interface KeywordPage {
  readonly outcome: 'found'
  readonly hits: readonly DocumentHit[]
  /** The exact number of visible chunks that match, on any page. */
  readonly totalChunks: number
  readonly next: KeywordPosition | null
  /**
   * The statistics of the scores (`keyword-statistics.ts`). Absent if they are too long for a cursor. An adapter may
   * omit them on the last page.
   */
  readonly statistics?: readonly number[] | undefined
  /** One entry for each requested facet, in their order. */
  readonly facets?: readonly (readonly ValueCount[])[]
}

export interface SimilarWordsPage {
  readonly outcome: 'found'
  /** One entry for each requested word, in their order. */
  readonly words: readonly SimilarWords[]
}

export interface SimilarWords {
  /** Whether the word matches something, as it is or as a prefix. */
  readonly isFound: boolean
  /**
   * Words of the fields that may be searched (the first terms of their positions), without the word itself. For a
   * prefix, words that start with it are left out. So are words that occur only in chunks that the group finds, because
   * these are just other forms of the word.
   */
  readonly similar: readonly SimilarWord[]
}

export interface SimilarWord {
  readonly word: string
  readonly edits: number
}

export interface VectorPage {
  readonly outcome: 'found'
  /** Scores are cosines. */
  readonly hits: readonly DocumentHit[]
  /** More than one in `pendingOneIn` of the visible chunks with words in their body has no vector of the profile. */
  readonly vectorsPending: boolean
}

/** `vectorsPending` is false while at most one in this many chunks has no vector. */
export const pendingOneIn = 100

export interface DocumentScores {
  readonly documentId: string
  /** The document's best chunk for the query; `null` if none matches or the document is not visible. */
  readonly keyword: ChunkScore | null
  /**
   * For each requested vector, in their order: the document's nearest chunk with its exact cosine; `null` without a
   * visible vector.
   */
  readonly vectors: readonly (ChunkScore | null)[]
}

export interface DocumentScorePage {
  readonly outcome: 'found'
  /** One entry for each requested id, in their order. */
  readonly scores: readonly DocumentScores[]
}

export interface ValuesPage {
  readonly outcome: 'found'
  /** Ordered by their UTF-8 bytes. */
  readonly values: readonly ValueCount[]
  /** The last value of the page if there are more; null at the end. */
  readonly next: string | null
}

export type KeywordOutcome = KeywordPage | TimedOut | Unavailable
export type SimilarWordsOutcome = SimilarWordsPage | TimedOut | Unavailable
export type VectorOutcome = VectorPage | TimedOut | Unavailable
export type ScoreOutcome = DocumentScorePage | TimedOut | Unavailable
export type ValuesOutcome = ValuesPage | TimedOut | Unavailable
