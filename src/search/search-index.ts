import type { Scope } from '../access/scope.ts'
import type { ColumnValues } from '../document/field-types.ts'
import type { DocumentStatus } from '../document/fields.ts'
import type { KeywordQuery, TermGroup } from '../text/types.ts'
import type { Facet, ValueCount, ValuesField } from './facets.ts'

/**
 * The part of the port that a search uses. The index holds ids, terms, filter columns and vectors; texts stay in the
 * store. `SearchIndex` in `indexing/fed-index.ts` is the whole port, and has the rules that every adapter keeps.
 *
 * Keywords and vectors are two calls: they run in parallel, each with its own time limit, and a search can continue
 * with one if the other times out.
 */
export interface QueriedIndex {
  keyword(request: KeywordRequest): Promise<KeywordOutcome>
  vector(request: VectorRequest): Promise<VectorOutcome>
  /** Scores given documents: hybrid search uses it for documents that only one of its branches found. */
  score(request: ScoreRequest): Promise<ScoreOutcome>
  /** Words in the visible texts that the given ones may have been meant for. */
  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome>
}

/** The part of the port that lists of values use. */
export interface CountedIndex {
  /** The values that documents have in a field, with the number of documents for each. */
  values(request: ValuesRequest): Promise<ValuesOutcome>
}

/** The columns that scope and filters use. The language belongs to the version, all others to the document. */
export type VersionColumns = ColumnValues

/**
 * The additional columns that keyword searches filter, sort and count by. They belong to the current document, so they
 * count only if the scope opens that: if only an earlier version may be read, the document counts as one without
 * values. Facets and orders use a column if an entry that matches the current document grants its permission
 * (`column-permissions.ts`); otherwise the document is found and counted as one without the value. A scope that is used
 * with conditions grants the permissions of these.
 */
export interface CatalogColumns {
  readonly authorId: string | null
  readonly topics: readonly string[]
  readonly tags: readonly string[]
  readonly classifications: readonly string[]
  /** A whole number. */
  readonly score: number | null
}

export type IndexedColumns = VersionColumns & CatalogColumns

export interface ChunkVector {
  readonly profileId: string
  /** Finite and not all zero; the first vector of a profile fixes its dimensions. Any other vector counts as absent. */
  readonly vector: ArrayLike<number>
}

/** `null` means "any", an empty list matches nothing. A filter never matches a document without the value. */
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
  readonly conditions?: CatalogConditions
  readonly facets?: FacetsRequest
}

/**
 * By relevance, by time, or by the document's own score; a minus means descending. Documents without the time or score
 * come last either way; ties are ordered by document id.
 */
export const keywordOrders = ['relevance', 'published_at', '-published_at', '-score'] as const
export type KeywordOrder = (typeof keywordOrders)[number]

/**
 * All conditions must hold; a document must have one value of a list. `null` means "any". A condition never holds for a
 * document without the value.
 */
export interface CatalogConditions {
  readonly authorId: string | null
  readonly topics: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly classifications: readonly string[] | null
  /** Both ends are inclusive. */
  readonly scoreMin: number | null
  readonly scoreMax: number | null
}

/**
 * Exact counts of all documents that match, on any page. A document counts once for each of its values, as the result
 * that it would be: with the language of the version of its best chunk.
 */
export interface FacetsRequest {
  readonly of: readonly Facet[]
  /** Values of each facet: the most frequent first, ties in the order of their UTF-8 bytes. */
  readonly limit: number
}

export interface SimilarWordsRequest extends Search {
  readonly words: readonly TypedWord[]
  /** Words count if they occur in documents that meet the conditions. */
  readonly conditions?: CatalogConditions
  /** Terms of excluded texts: a word that occurs only in these is not similar to anything. */
  readonly excluded: TermGroup
  /**
   * The number of similar words for each word: the nearest, and of equally near ones those in most chunks, as far as
   * they are worth counting.
   */
  readonly limit: number
}

/** A word of a query, without case and accents. */
export interface TypedWord {
  readonly word: string
  /** The terms that find the word as typed. */
  readonly group: TermGroup
  /** The word is a prefix: another word is similar if one of its prefixes is. */
  readonly isPrefix: boolean
  /** The largest Damerau-Levenshtein distance, in which no letter is edited twice: 1 or 2. */
  readonly editsMax: number
  /**
   * Similar words are only needed if the word matches nothing that the request may see, neither as it is nor as a
   * prefix.
   */
  readonly unlessFound: boolean
}

export interface VectorRequest extends Search {
  readonly profileId: string
  readonly vector: ArrayLike<number>
  /** Chunks, before they are grouped by document. */
  readonly topK: number
  /** The index may leave out what is farther than so many chunks of so many documents. */
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
  /** The keyword scores of these documents come with their parts. */
  readonly explain?: readonly string[]
  /**
   * The statistics of a keyword page of the same query and scope, so that the scores are comparable and nothing is
   * counted twice.
   */
  readonly statistics?: readonly number[] | undefined
}

/** Counts documents whose current version the scope opens, regardless of which fields. */
export interface ValuesRequest {
  readonly scope: Scope
  readonly field: ValuesField
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
   * The statistics of the scores (`keyword-statistics.ts`). Present together with `next`, unless they are too long to
   * hand on, or always.
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
   * Words of the fields that may be searched (the first terms of their positions), without the word itself and, for a
   * prefix, without words that it begins. A similar word counts only where the group does not match: a word that occurs
   * only in chunks that the group finds is just another form of it.
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

/** A smaller share of missing vectors is not reported. */
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
