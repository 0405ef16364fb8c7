import type {
  ChunkVector,
  CountedIndex,
  IndexedColumns,
  QueriedIndex,
  TimedOut,
  Unavailable,
} from '../search/search-index.ts'
import type { AnalysedField } from '../text/types.ts'
import type { PackedChanges } from './packed-changes.ts'

/**
 * The whole port of the index. Searches, feeding and maintenance each use only their own part of it.
 *
 * Rules that every adapter keeps (`test/contracts/search-index.ts`):
 *
 * - A batch that `apply` has acknowledged is durable, and every search that starts afterwards sees it. The ranking of
 *   one document sees a batch whole or not at all: a new version replaces the old one in one step.
 * - Scope and filters are exact: a document outside them is never returned, counted or scored. A title is searched only
 *   if an entry that matches the document grants `title`; a body and its vectors only if one grants `body`.
 * - A keyword score, including how often words occur, depends only on the current versions that the scope may search.
 *   Documents outside the scope and the filters of the request do not change it. If a title may be searched and its
 *   body may not, the version counts as one chunk, the first.
 * - The order is descending score, then document id, then chunk id. Ids are compared by their UTF-8 bytes.
 * - No request that fits these types makes a search throw. A timeout and an index that cannot answer are outcomes.
 */
export interface SearchIndex extends QueriedIndex, CountedIndex, FedIndex, KeptIndex {}

/** The state of the index. */
interface IndexState {
  /** False once the index is known to be unusable: then `health` says `needs_rebuild`. Free to call. */
  readonly isSound: boolean
  /**
   * The position of `health`, or 0 if the index needs a rebuild. May be called often: it is cheap for an index of any
   * size.
   */
  position(): Promise<number>
  health(): Promise<IndexHealth>
}

/** The part that feeding uses. */
export interface FedIndex extends IndexState {
  apply(batch: IndexBatch): Promise<ApplyOutcome>
  /**
   * Chunks without a vector of the profile, regardless of who may see them. Includes chunks whose text is empty or was
   * refused.
   */
  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome>
  /** Empties the index and sets its position to 0. This is the only way out of `needs_rebuild`. */
  clear(): Promise<void>
}

/** The part that maintenance uses. */
export interface KeptIndex extends IndexState {
  /** Writes state that a restart would otherwise compute again. Nothing is lost without it. */
  checkpoint(): Promise<void>
  /**
   * Removes every trace of the data that earlier batches retired, wherever it is stored. Searches and batches continue
   * meanwhile. It takes at most as long as writing all segments again. If it has to wait for other processes, it
   * resolves earlier and must be called again, until `purgedThrough` of the health says that nothing is left.
   */
  purge(): Promise<void>
  close(): Promise<void>
}

/** The columns that all versions of a document share. */
export type DocumentColumns = Omit<IndexedColumns, 'language'>

export interface IndexedChunk<Field = AnalysedField> {
  readonly chunkId: string
  readonly body: Field
  readonly vectors: readonly ChunkVector[]
}

/**
 * Adds or replaces one version with all its chunks. `current: true` makes the other versions of the document
 * non-current; they take over all columns except the language. A title is found through the chunks: a version without
 * chunks cannot be found.
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

/** A change that names a document, version or chunk that the index does not hold does nothing. */
export type IndexChange<Field = AnalysedField> =
  | PutVersion<Field>
  | { readonly kind: 'retire_version'; readonly documentId: string; readonly versionId: string }
  | { readonly kind: 'retire_document'; readonly documentId: string }
  | { readonly kind: 'set_columns'; readonly documentId: string; readonly columns: DocumentColumns }
  | ({ readonly kind: 'set_vector'; readonly documentId: string; readonly chunkId: string } & ChunkVector)

export interface IndexBatch {
  /**
   * The position in the change feed after this batch. A batch at or below the position of the index was applied before
   * and is acknowledged without effect. `null` for a change outside the feed (late vectors): it is always applied, and
   * the position stays.
   */
  readonly position: number | null
  readonly changes: readonly IndexChange[] | PackedChanges
}

export type ApplyOutcome = { readonly outcome: 'applied' } | Unavailable

export interface WithoutVectorRequest {
  readonly profileId: string
  /** Only versions in one of these languages; `null` for all versions. */
  readonly languages: readonly string[] | null
  /** `next` of the previous page. */
  readonly after: string | null
  /** A document is never split over two pages, so the last document may bring more chunks than this. */
  readonly limit: number
  readonly timeoutMs: number
}

export interface WithoutVectorPage {
  readonly outcome: 'found'
  /** Ordered by document id. */
  readonly chunks: readonly { readonly documentId: string; readonly chunkId: string }[]
  /** The last document of the page if there are more; null at the end. */
  readonly next: string | null
}

export type WithoutVectorOutcome = WithoutVectorPage | TimedOut | Unavailable

/** Health in terms that fit every technology. Details of one technology are in `parts` and `warnings`. */
export interface IndexHealth {
  readonly state: 'ready' | 'needs_rebuild'
  /** Why a rebuild is needed; empty if the index is ready. */
  readonly reason: string
  /** Whether a search would be answered now. */
  readonly searchable: boolean
  /** False while the technology refuses writes, so that new documents are not found. */
  readonly takesWrites: boolean
  /** The position of the last applied batch that had one; 0 for an empty index. The feeder continues from here. */
  readonly position: number
  /** Data that was retired up to this position has left no trace. */
  readonly purgedThrough: number
  readonly documents: number
  /** Searchable chunks, non-current versions included. */
  readonly chunks: number
  readonly profiles: readonly { readonly profileId: string; readonly dimensions: number; readonly chunks: number }[]
  /** The number of segments; a search goes through them one by one. */
  readonly segments: number
  /** The memory that this process holds for the index. */
  readonly memoryBytes: number
  /** The disk space of the index, on this machine or elsewhere. */
  readonly diskBytes: number
  /** Bytes of memory by their use. */
  readonly parts: Readonly<Record<string, number>>
  /** Limits of the technology that were reached, in words for an operator. Empty if all is well. */
  readonly warnings: readonly string[]
}
