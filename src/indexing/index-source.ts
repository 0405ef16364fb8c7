import type { IndexedColumns } from '../search/search-index.ts'
import type { ChunkRecord } from '../search/version-chunks.ts'
import type { PackedChanges } from './packed-changes.ts'

/** The port: the source that the search index is fed from. */
export interface IndexSource {
  /** Identifies this store and its copies; null if nothing was ever written to it. */
  instance(): Promise<string | null>
  /**
   * Documents whose index revision is above the given one, in that order. Each comes with those of its versions whose
   * own revision is above `versionsAfter` (by default the same one). Erased documents are among them, at a revision of
   * their own.
   */
  documentsAfter(revision: number, limits: DocumentLimits): Promise<readonly (SourceDocument | ErasedDocument)[]>
  /**
   * The same documents in the form that the index takes: split into chunks and analysed. Null if there is none. They
   * are prepared where the texts are read, which is a thread of the embedded store, to keep this work off the main
   * thread.
   */
  preparedAfter(revision: number, limits: PortionLimits): Promise<PreparedPortion | null>
  /** The newest index revision. */
  newestRevision(): Promise<number>
  /** The newest index revision of an erased document; 0 if none was erased. */
  newestErasure(): Promise<number>
  /** Records that an index in use holds no trace of documents erased up to this revision. */
  reportPurged(copyId: string, revision: number, nowMs: number): Promise<void>
  /** Records that an index that was in use is gone without a trace. */
  reportRemoved(copyId: string): Promise<void>
  /**
   * Stores chunks. They must be all chunks of their versions, and replace the earlier chunks of these versions. Every
   * chunk with a text then waits for each missing vector, of every profile that makes vectors of its language.
   * Repeating the call changes nothing. Chunks and vectors of a document that was erased meanwhile are not stored.
   */
  putChunks(chunks: readonly ChunkRecord[]): Promise<void>
  /** The profiles that vectors are made for, the default profile first; none before an instance is first served. */
  activeProfiles(): Promise<readonly ActiveProfile[]>
  /**
   * Queues chunks for a vector of the profile, unless they have one or were refused. Returns how many were not queued
   * before.
   */
  awaitVectors(profileId: string, chunkIds: readonly string[]): Promise<number>
  /** Chunks that wait for a vector, newest first: searches look for new documents first. */
  waitingChunks(profileId: string, limit: number): Promise<readonly WaitingChunk[]>
  /** The given chunks that still wait for a vector of the profile. */
  stillWaiting(profileId: string, chunkIds: readonly string[]): Promise<readonly string[]>
  putVectors(profileId: string, vectors: readonly StoredVector[]): Promise<void>
  /** The vectors of the given chunks; chunks without one are left out. */
  vectors(profileId: string, chunkIds: readonly string[]): Promise<readonly LateVector[]>
  /**
   * Called when the vectors are in the index, or left to the process that feeds it. A chunk without a vector in the
   * store keeps waiting.
   */
  doneWaiting(profileId: string, chunkIds: readonly string[]): Promise<void>
  /** Records that the model will never take these texts: the chunks stop waiting until they are stored again. */
  refuseVectors(profileId: string, chunkIds: readonly string[]): Promise<void>
  /** Reads every chunk. */
  vectorGaps(): Promise<VectorGaps>
  /** Counts stop at `countedMax`, if it is given, so that a frequent caller pays little for a long backlog. */
  backlog(indexedRevision: number, countedMax?: number): Promise<Backlog>
  /** Chunks that were replaced do not count. */
  chunkCount(): Promise<number>
}

export interface DocumentLimits {
  readonly documents: number
  readonly characters: number
  readonly versionsAfter?: number
}

export interface PortionLimits extends DocumentLimits {
  /** Many documents wait: no other work should wait behind this one. */
  readonly isBehind: boolean
}

/** A run of documents, and their changes for the index. */
export interface PreparedPortion {
  /** The revision of the last document. */
  readonly position: number
  readonly documents: number
  /** The number of erased documents among them. */
  readonly erased: number
  readonly changes: PackedChanges
  readonly chunks: readonly ChunkRecord[]
  /** There may be more documents after these. */
  readonly isFull: boolean
}

export interface SourceDocument {
  readonly documentId: string
  readonly revision: number
  /** The columns of the current version. */
  readonly columns: IndexedColumns
  /** Versions above the requested revision, oldest first; none if only columns changed. */
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
  /** Vectors that were made before, by chunk, so that a rebuilt index need not wait for them. */
  readonly vectors: readonly (StoredVector & { readonly profileId: string })[]
}

export interface WaitingChunk {
  readonly chunkId: string
  readonly documentId: string
  readonly text: string
  /** A vector that is made but not in the index yet. */
  readonly vector: Float32Array | null
  /** The vector of another chunk with the same text, if this chunk has none. */
  readonly twin: Float32Array | null
}

export interface StoredVector {
  readonly chunkId: string
  readonly vector: Float32Array
}

export interface LateVector extends StoredVector {
  readonly documentId: string
}

/** A profile that vectors are made for. */
export interface ActiveProfile {
  readonly profileId: string
  /** The languages of the texts that it makes vectors of; `null` for all. */
  readonly languages: readonly string[] | null
}

/** Chunks that should have a vector but have none, and are not queued for one. */
export interface VectorGaps {
  /** Chunks that should be queued. A correct system has none. */
  readonly lost: number
  readonly refused: number
}

export interface Backlog {
  /** Documents with changes the index has not seen. */
  readonly documents: number
  /** Summed over all profiles that vectors are made for. */
  readonly waitingVectors: number
  /** When the oldest of them came in; null if nothing waits. */
  readonly oldestAt: number | null
}
