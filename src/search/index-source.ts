import type { Scope } from '../access/scope.ts'
import type { PackedChanges } from './packed-changes.ts'
import type { IndexedColumns, VersionColumns } from './search-index.ts'

/** The port: what the search index is fed from, and where searches read the texts that the index does not hold. */
export interface IndexSource {
  /** Tells this store and its copies from every other; null where nothing was ever done to it. */
  instance(): Promise<string | null>
  /**
   * Documents whose index revision is above the given one, in that order, each with those of its versions whose own is
   * above `versionsAfter` (the same one when left out). Those that were erased stand among them, at a revision of their own.
   */
  documentsAfter(revision: number, limits: DocumentLimits): Promise<readonly (SourceDocument | ErasedDocument)[]>
  /**
   * The same as the index is told of them: cut into chunks and read word by word. Null where there is nothing. It is made where
   * the texts are read, which with the embedded store is a thread of it: it was most of what the main thread did for
   * a document.
   */
  preparedAfter(revision: number, limits: PortionLimits): Promise<PreparedPortion | null>
  /** The newest index revision. */
  newestRevision(): Promise<number>
  /** The newest one of a document that was erased; 0 where none was. */
  newestErasure(): Promise<number>
  /** An index that is in use says up to which revision nothing that was erased is left in it. */
  reportPurged(copyId: string, revision: number, nowMs: number): Promise<void>
  /**
   * Keeps chunks: all of each version that they are of. What the version was cut into before is replaced. Every chunk
   * with a text waits, from here on, for those vectors that it lacks, of every profile that makes some of its language.
   * Again changes nothing. Chunks of a document that was erased meanwhile are not kept, nor vectors of them.
   */
  putChunks(chunks: readonly ChunkRecord[]): Promise<void>
  /** The profiles that vectors are made of, the default one first; none before an instance is first served. */
  madeProfiles(): Promise<readonly MadeProfile[]>
  /** Those of the chunks that lack a vector of the profile and were not refused wait for one. Returns how many did not yet. */
  awaitVectors(profileId: string, chunkIds: readonly string[]): Promise<number>
  /** Chunks that wait for a vector, newest first: what came in last is looked for first. */
  waitingChunks(profileId: string, limit: number): Promise<readonly WaitingChunk[]>
  /** Those of the given chunks that still wait for a vector of the profile. */
  stillWaiting(profileId: string, chunkIds: readonly string[]): Promise<readonly string[]>
  putVectors(profileId: string, vectors: readonly StoredVector[]): Promise<void>
  /** Vectors of the given chunks, as far as there are any. */
  vectors(profileId: string, chunkIds: readonly string[]): Promise<readonly LateVector[]>
  /** Called when the vectors are in the index, or left to who feeds it. A chunk that has none in the store goes on waiting. */
  doneWaiting(profileId: string, chunkIds: readonly string[]): Promise<void>
  /** The model will never take their texts: they wait no longer, until they are put again. */
  refuseVectors(profileId: string, chunkIds: readonly string[]): Promise<void>
  /** Looks at every chunk. */
  vectorGaps(): Promise<VectorGaps>
  /** Counts stop at `countedMax`, where one is given: to be asked for often, however much waits. */
  backlog(indexedRevision: number, countedMax?: number): Promise<Backlog>
  /** Without those that are replaced. */
  chunkCount(): Promise<number>
  /** What a page of results shows of its documents. Documents that are gone are left out. */
  results(documentIds: readonly string[]): Promise<readonly ResultDocument[]>
  /** What documents are counted by. Documents that are gone are left out. */
  indexedColumns(documentIds: readonly string[]): Promise<readonly CountedDocument[]>
  /** The same of versions that are not current. */
  versionHeads(versionIds: readonly string[]): Promise<readonly VersionHead[]>
  chunkTexts(chunkIds: readonly string[]): Promise<readonly ChunkText[]>
  /**
   * The same with their documents and, where they are wanted, the details of those: what a page of results needs. What is
   * gone is left out. A text that the scope does not open is empty, and is not read: how long it takes must not tell how
   * long it is.
   */
  shownChunks(chunkIds: readonly string[], withDetails: boolean, scope: Scope): Promise<readonly ShownChunk[]>
}

/** What a search asks of it, beside what it has made of texts. */
export type AskedSource = Pick<IndexSource, 'indexedColumns' | 'versionHeads' | 'results'>

export interface DocumentLimits {
  readonly documents: number
  readonly characters: number
  readonly versionsAfter?: number
}

export interface PortionLimits extends DocumentLimits {
  /** Much waits: nobody else should wait behind it. */
  readonly isBehind: boolean
}

/** Documents one after the other, and what the index must be told of them. */
export interface PreparedPortion {
  /** The revision of the last. */
  readonly position: number
  readonly documents: number
  /** So many of them are no longer there. */
  readonly erased: number
  readonly changes: PackedChanges
  readonly chunks: readonly ChunkRecord[]
  /** There may be more behind it. */
  readonly isFull: boolean
}

export interface SourceDocument {
  readonly documentId: string
  readonly revision: number
  /** Those of its current version. */
  readonly columns: IndexedColumns
  /** Versions above the revision asked for, oldest first; none when only columns changed. */
  readonly versions: readonly SourceVersion[]
}

export interface ErasedDocument {
  readonly documentId: string
  readonly revision: number
  readonly isErased: true
}

export interface SourceVersion {
  readonly versionId: string
  readonly current: boolean
  readonly language: string | null
  readonly title: string | null
  readonly body: string | null
  /** Vectors that were made before, by chunk: an index that is built anew need not wait for them. */
  readonly vectors: readonly (StoredVector & { readonly profileId: string })[]
}

export interface ChunkRecord {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly ordinal: number
  readonly startsAt: number
  readonly endsAt: number
  /** The same for the same text, and for no other; null for an empty one. */
  readonly textHash: string | null
}

export interface WaitingChunk {
  readonly chunkId: string
  readonly documentId: string
  readonly text: string
  /** Made before, but not yet in the index. */
  readonly vector: Float32Array | null
  /** That of another chunk with the same text, where this one has none. */
  readonly twin: Float32Array | null
}

export interface StoredVector {
  readonly chunkId: string
  readonly vector: Float32Array
}

export interface LateVector extends StoredVector {
  readonly documentId: string
}

/** A profile that vectors are made of. */
export interface MadeProfile {
  readonly profileId: string
  /** Of texts that say one of these languages; `null` of all. */
  readonly languages: readonly string[] | null
}

/** Chunks without a vector that is made of such texts and that do not wait for it either. */
export interface VectorGaps {
  /** That should wait: none, ever. */
  readonly lost: number
  readonly refused: number
}

export interface Backlog {
  /** Documents with changes the index has not seen. */
  readonly documents: number
  /** Of every profile that vectors are made of. */
  readonly waitingVectors: number
  /** When the oldest of them came in; null when nothing waits. */
  readonly oldestAt: number | null
}

/** What a result shows of its document beside its texts and columns. */
export interface DocumentDetails {
  readonly externalId: string
  readonly url: string | null
  readonly author: { readonly externalAuthorId: string | null; readonly nickname: string | null } | null
  readonly topics: readonly string[]
  readonly tags: readonly string[]
  /** That of the document as it is now: whoever may read an earlier version alone may not read the details of this one. */
  readonly language: string | null
}

/** A document with the title and the language of its current version. */
export interface ResultDocument extends VersionColumns {
  readonly documentId: string
  readonly title: string | null
  readonly quality: number | null
  readonly currentVersionId: string
}

/** As it is now. */
export interface CountedDocument extends IndexedColumns {
  readonly documentId: string
  readonly currentVersionId: string
}

export interface VersionHead {
  readonly versionId: string
  readonly title: string | null
  /** Its own, or the document's where it has none. */
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
  readonly quality: number | null
  /** Null where they were not asked for. */
  readonly details: DocumentDetails | null
}
