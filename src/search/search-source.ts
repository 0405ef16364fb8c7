import type { Scope } from '../access/scope.ts'
import type { DetailValues } from '../document/field-types.ts'
import type { IndexedColumns, VersionColumns } from './search-index.ts'

/** The part of the store that searches read, for data that the index does not hold. `SearchTexts` runs next to it. */
export interface SearchSource {
  /** Documents with the columns for results and ranking. Removed documents are left out. */
  results(documentIds: readonly string[]): Promise<readonly ResultDocument[]>
  /** The columns that facets count. Removed documents are left out. */
  indexedColumns(documentIds: readonly string[]): Promise<readonly CountedDocument[]>
  /** The title and language of versions that are not current. */
  versionHeads(versionIds: readonly string[]): Promise<readonly VersionHead[]>
  chunkTexts(chunkIds: readonly string[]): Promise<readonly ChunkText[]>
  /**
   * Chunks with their documents and, if requested, details: everything that a page of results needs. Removed documents
   * are left out. A text that the scope does not open is empty and is not read, so that the response time does not
   * reveal its length.
   */
  shownChunks(chunkIds: readonly string[], withDetails: boolean, scope: Scope): Promise<readonly ShownChunk[]>
}

/** The part of a document that a result shows besides its texts and columns. */
export interface DocumentDetails extends DetailValues {
  /**
   * The language of the current document. It decides whether a caller who found an earlier version may read these
   * details.
   */
  readonly language: string | null
}

/** A document with the title and the language of its current version. */
export interface ResultDocument extends VersionColumns {
  readonly documentId: string
  readonly title: string | null
  readonly quality: number | null
  readonly currentVersionId: string
}

/** The current state of the document. */
export interface CountedDocument extends IndexedColumns {
  readonly documentId: string
  readonly currentVersionId: string
}

export interface VersionHead {
  readonly versionId: string
  readonly title: string | null
  /** The language of the version, or of the document if the version has none. */
  readonly language: string | null
}

export interface ChunkText {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly ordinal: number
  /** The version's own title and language. */
  readonly title: string | null
  readonly language: string | null
  readonly text: string
}

export interface ShownChunk extends ChunkText {
  readonly document: VersionColumns
  /** Null if they were not requested. */
  readonly details: DocumentDetails | null
}
