import type { Scope, ScopedDocument } from '../access/scope.ts'
import type { DocumentStatus } from '../ingest/content-store.ts'
import type { AnalysedField, KeywordQuery, TermGroup } from '../text/types.ts'
import type { Facet, ValueCount, ValuesField } from './facets.ts'
import type { PackedChanges } from './packed-changes.ts'

/**
 * What search needs of an index. The index holds ids, terms, filter columns and vectors; texts stay in the store.
 *
 * Rules every adapter keeps (`test/contracts/search-index.ts`):
 * - What `apply` acknowledged is durable, and every search that starts afterwards sees it. A batch is seen whole or not
 *   at all by the ranking of one document: a new version replaces the old in one step.
 * - Scope and filters are exact: a document outside them is never returned, counted or scored. A title is searched only
 *   where an entry that matches the document grants `title`, a body and its vectors only where one grants `body`.
 * - A keyword score, how often words occur included, is made of what the scope lets be searched in current versions, and of
 *   nothing else: what lies outside it, and the request's own filters, have no say. Where a title may be searched and the
 *   body not, its version counts as one chunk, the first.
 * - Order is score descending, then document id, then chunk id, ids compared by their UTF-8 bytes.
 * - Nothing that fits these types makes a search throw. Time running out and an index that cannot answer are outcomes.
 */
export interface SearchIndex {
  /** False once it is known that it cannot be gone on from: `health` then says `needs_rebuild`. Costs nothing to ask. */
  readonly isSound: boolean
  apply(batch: IndexBatch): Promise<ApplyOutcome>
  keyword(request: KeywordRequest): Promise<KeywordOutcome>
  vector(request: VectorRequest): Promise<VectorOutcome>
  /** Words, as they stand in what the request may see, that given ones may have been meant for. */
  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome>
  /** What given documents would score: hybrid search completes the branch that did not find them. */
  score(request: ScoreRequest): Promise<ScoreOutcome>
  count(request: CountRequest): Promise<CountOutcome>
  /** The values that documents have in a field, with how many have each. */
  values(request: ValuesRequest): Promise<ValuesOutcome>
  /** Chunks without a vector of the profile, whoever may see them; also those whose text is empty or was refused. */
  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome>
  /** That of its health, 0 where it needs a rebuild. To be asked for often: it costs next to nothing, however large the index. */
  position(): Promise<number>
  health(): Promise<IndexHealth>
  /** Writes what a restart would otherwise work out again. Nothing is lost without it; a restart is faster with it. */
  checkpoint(): Promise<void>
  /**
   * Resolves when nothing is left, wherever it is kept, of what was retired by batches applied before; searches and batches
   * go on meanwhile. Bounded by the time that it takes to write all segments again.
   */
  purge(): Promise<void>
  /** Empties the index and sets its position to 0. The only way out of `needs_rebuild`. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** What a search asks of it. */
export type AskedIndex = Pick<SearchIndex, 'keyword' | 'vector' | 'similarWords' | 'score'>

/** The columns that scope and filters look at. The language is a version's own; all else is its document's. */
export interface VersionColumns extends ScopedDocument {
  readonly contentType: string | null
  readonly status: DocumentStatus
}

/**
 * What keyword searches filter, sort and count by beside. It is told of the document as it is now, so it counts only where
 * the scope opens that: where an earlier version alone may be read, a document is as one that has none of it. Facets and
 * orders count it where an entry that matches the document as it is now grants its permission (`column-permissions.ts`):
 * of the others it is found and counted as one that has none. A scope with which conditions are asked grants theirs.
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

/** What the versions of a document share. */
export type DocumentColumns = Omit<IndexedColumns, 'language'>

export interface ChunkVector {
  readonly profileId: string
  /** Finite and not all zero; the first vector of a profile fixes its dimensions. Any other vector counts as absent. */
  readonly vector: ArrayLike<number>
}

export interface IndexedChunk<Field = AnalysedField> {
  readonly chunkId: string
  readonly body: Field
  readonly vectors: readonly ChunkVector[]
}

/**
 * Puts or replaces one version with all its chunks. `current: true` makes the document's other versions non-current;
 * they take over all columns but the language. The title is found through the chunks: a version without any cannot be
 * found.
 */
export interface PutVersion<Field = AnalysedField> {
  readonly kind: 'put_version'
  readonly documentId: string
  readonly versionId: string
  readonly columns: IndexedColumns
  readonly current: boolean
  readonly title: Field
  readonly chunks: readonly IndexedChunk<Field>[]
}

/** Changes that name a document, version or chunk the index does not hold do nothing. */
export type IndexChange<Field = AnalysedField> =
  | PutVersion<Field>
  | { readonly kind: 'retire_version'; readonly documentId: string; readonly versionId: string }
  | { readonly kind: 'retire_document'; readonly documentId: string }
  | { readonly kind: 'set_columns'; readonly documentId: string; readonly columns: DocumentColumns }
  | ({ readonly kind: 'set_vector'; readonly documentId: string; readonly chunkId: string } & ChunkVector)

export interface IndexBatch {
  /**
   * Where the change feed stands after this batch. A batch at or below the index's position was applied before and is
   * acknowledged without effect. `null` for changes outside the feed (late vectors): always applied, position kept.
   */
  readonly position: number | null
  readonly changes: readonly IndexChange[] | PackedChanges
}

export type ApplyOutcome = { readonly outcome: 'applied' } | Unavailable

/** `null` means "any", an empty list matches nothing. A filter never matches a document that lacks the value. */
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
  /** Waiting for a free reader counts too. */
  readonly timeoutMs: number
}

export interface KeywordRequest extends Search {
  readonly query: KeywordQuery
  /** The best chunk of each hit comes with the parts of its score. */
  readonly explain?: boolean
  /** That of the first hit does, as far as the index has them at hand. */
  readonly explainFirst?: boolean
  /** Hits may tell their cosines with these. */
  readonly near?: readonly NearQuery[]
  readonly limit: number
  /** `next` of the page before: scores are compared, not offsets. */
  readonly after: KeywordPosition | null
  /** `statistics` of the page before, so that it goes on by the same scores while the index changes. */
  readonly statistics?: readonly number[] | undefined
  /** How many of a document's other matching chunks to list at most. */
  readonly otherChunksMax: number
  /** `relevance` when left out. */
  readonly order?: KeywordOrder
  readonly conditions?: CatalogConditions
  readonly facets?: FacetsRequest
}

/**
 * By score of the match, by time, by the document's own score; the highest first where there is a minus. Documents without
 * the time or score come last either way, equal ones by document id.
 */
export const keywordOrders = ['relevance', 'published_at', '-published_at', '-score'] as const
export type KeywordOrder = (typeof keywordOrders)[number]

/** All must hold; of a list one value must be had. `null` means "any". Never true of a document that lacks the value. */
export interface CatalogConditions {
  readonly authorId: string | null
  readonly topics: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly classifications: readonly string[] | null
  /** Inclusive, both. */
  readonly scoreMin: number | null
  readonly scoreMax: number | null
}

/**
 * Counts of all documents that match, on whatever page; exact. A document counts once for each value that it has, as the
 * result that it would be: with the language of the version of its best chunk.
 */
export interface FacetsRequest {
  readonly of: readonly Facet[]
  /** Values of each: the most frequent first, equal ones in the order of their UTF-8 bytes. */
  readonly limit: number
}

export interface SimilarWordsRequest extends Search {
  readonly words: readonly TypedWord[]
  /** Words count where they stand in documents that meet them. */
  readonly conditions?: CatalogConditions
  /** Terms of texts that are not wanted: what stands nowhere else is similar to nothing. */
  readonly excluded: TermGroup
  /** Of each word the nearest, and of those as near the ones in most chunks, as far as it is worth counting them. */
  readonly limit: number
}

/** A word of a query, case and accents apart. */
export interface TypedWord {
  readonly word: string
  /** What finds it as it is. */
  readonly group: TermGroup
  /** The word may go on: one that has a beginning which is similar is similar. */
  readonly isBeginning: boolean
  /** Letters put in, left out or changed, or two neighbours changed about; no letter twice. 1 or 2. */
  readonly editsMax: number
  /** Similar words are wanted only where it matches nothing that the request may see, as it is or as a beginning. */
  readonly unlessFound: boolean
}

export interface VectorRequest extends Search {
  readonly profileId: string
  readonly vector: ArrayLike<number>
  /** Chunks, before they are put together by document. */
  readonly topK: number
  /** What is farther than so many chunks of so many documents need not be told. */
  readonly enough?: EnoughNear | undefined
  /** Hits may tell what these give to them. */
  readonly words?: WordsQuery
}

export interface EnoughNear {
  readonly chunks: number
  readonly documents: number
}

/** What documents that were found otherwise are compared with: each is asked with its own filters. */
export interface NearQuery extends ChunkVector {
  readonly filters: SearchFilters
}

export interface WordsQuery {
  readonly query: KeywordQuery
  readonly filters: SearchFilters
  /** Scores come with their parts. */
  readonly explain?: boolean
}

export interface ScoreRequest extends Search {
  readonly documentIds: readonly string[]
  readonly query: KeywordQuery | null
  readonly vector: ChunkVector | null
  /** Keyword scores come with their parts. */
  readonly explain?: boolean
  /** Of a keyword page of the same query and scope, so that its scores and these compare, and nothing is counted twice. */
  readonly statistics?: readonly number[] | undefined
}

export type CountRequest = Search

/** Counts documents whose current version the scope opens, whatever it opens of them. */
export interface ValuesRequest {
  readonly scope: Scope
  readonly field: ValuesField
  /** Values that begin so, to the letter. */
  readonly prefix: string
  /** `next` of the page before. */
  readonly after: string | null
  readonly limit: number
  readonly timeoutMs: number
}

export interface WithoutVectorRequest {
  readonly profileId: string
  /** Of versions that say one of these languages; `null` of all. */
  readonly languages: readonly string[] | null
  /** `next` of the page before. */
  readonly after: string | null
  /** Documents are given whole: the last one may bring more chunks than this. */
  readonly limit: number
  readonly timeoutMs: number
}

export interface KeywordPosition {
  /** What the order goes by: a score or a time; `null` for a document that has none. */
  readonly key: number | null
  readonly documentId: string
}

export interface ChunkScore {
  readonly chunkId: string
  readonly versionId: string
  readonly score: number
  /** Where asked for: what each clause of the query adds, in their order, then each boost. They add up to the score. */
  readonly parts?: readonly number[]
}

/**
 * One document: its best chunk and, best first, others of its chunks that matched too. Where the index has it at hand, it
 * tells what `score` would say of the document by what else was asked; where a hit does not tell, `score` is to be asked.
 */
export interface DocumentHit extends ChunkScore, Partial<ToldColumns> {
  readonly documentId: string
  readonly otherChunks: readonly ChunkScore[]
  /** Of its nearest chunk with each of `near`, in that order; `null` without a visible vector. */
  readonly cosines?: readonly (number | null)[]
  /** Its best chunk by `words`; `null` when none matches. */
  readonly words?: ChunkScore | null
}

/**
 * What hybrid ranking goes by of a document beside its scores, as the index has it: with `cosines` or `words`, where current
 * versions alone are searched.
 */
export interface ToldColumns {
  readonly language: string | null
  readonly publishedAt: number | null
  /** Positions of the title, less those of stop words. */
  readonly titleLength: number
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
  /** All visible chunks that match, on whatever page; exact. */
  readonly totalChunks: number
  readonly next: KeywordPosition | null
  /** What the scores were worked out from (`keyword-statistics.ts`): with `next`, unless it is too much to hand on, or always. */
  readonly statistics?: readonly number[] | undefined
  /** One for each that was asked for, in that order. */
  readonly facets?: readonly (readonly ValueCount[])[]
}

export interface SimilarWordsPage {
  readonly outcome: 'found'
  /** One for each word asked about, in that order. */
  readonly words: readonly SimilarWords[]
}

export interface SimilarWords {
  /** Whether the word, as it is or as a beginning, matches something. */
  readonly isFound: boolean
  /**
   * Words of the fields that may be searched, the first terms of their positions, without the word itself and, where that
   * is a beginning, without what begins so. They count where the group is not found: another form of the word that stands in
   * no other chunk is none.
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
  /** More than one in `pendingOneIn` of the visible chunks that have words in their body lacks a vector of the profile. */
  readonly vectorsPending: boolean
}

/** Fewer missing vectors than this are not worth a word. */
export const pendingOneIn = 100

export interface DocumentScores {
  readonly documentId: string
  /** The document's best chunk for the query, `null` when none matches or the document is not visible. */
  readonly keyword: ChunkScore | null
  /** The document's nearest chunk, exact cosine; `null` without a visible vector. */
  readonly vector: ChunkScore | null
}

export interface DocumentScorePage {
  readonly outcome: 'found'
  /** One for each id asked for, in that order. */
  readonly scores: readonly DocumentScores[]
}

export interface CountPage {
  readonly outcome: 'found'
  readonly documents: number
  readonly chunks: number
}

export interface ValuesPage {
  readonly outcome: 'found'
  /** In the order of their UTF-8 bytes. */
  readonly values: readonly ValueCount[]
  /** The last value, where there are more. */
  readonly next: string | null
}

export interface WithoutVectorPage {
  readonly outcome: 'found'
  /** In the order of document ids. */
  readonly chunks: readonly { readonly documentId: string; readonly chunkId: string }[]
  /** The last document, where there are more. */
  readonly next: string | null
}

export type KeywordOutcome = KeywordPage | TimedOut | Unavailable
export type SimilarWordsOutcome = SimilarWordsPage | TimedOut | Unavailable
export type VectorOutcome = VectorPage | TimedOut | Unavailable
export type ScoreOutcome = DocumentScorePage | TimedOut | Unavailable
export type CountOutcome = CountPage | TimedOut | Unavailable
export type ValuesOutcome = ValuesPage | TimedOut | Unavailable
export type WithoutVectorOutcome = WithoutVectorPage | TimedOut | Unavailable

/** In the words of any technology; what only one of them has to say of itself is in `parts` and `warnings`. */
export interface IndexHealth {
  readonly state: 'ready' | 'needs_rebuild'
  /** Why a rebuild is needed; empty when ready. */
  readonly reason: string
  /** Whether a search would be answered now. */
  readonly searchable: boolean
  /** Of the last batch applied that had one; 0 for an empty index. The feeder goes on from here. */
  readonly position: number
  /** Nothing is left of what was retired up to this position. */
  readonly purgedThrough: number
  readonly documents: number
  /** Searchable chunks, non-current versions included. */
  readonly chunks: number
  readonly profiles: readonly { readonly profileId: string; readonly dimensions: number; readonly chunks: number }[]
  /** Pieces that a search looks through one by one. */
  readonly segments: number
  /** What this process holds in memory for it. */
  readonly memoryBytes: number
  /** What it takes on disk, wherever that is. */
  readonly diskBytes: number
  /** What the bytes in memory are for. */
  readonly parts: Readonly<Record<string, number>>
  /** Limits of the technology that were reached, in words for an operator. Empty is well. */
  readonly warnings: readonly string[]
}
