import type { Scope, ScopedDocument } from '../access/scope.ts'
import type { DocumentStatus } from '../ingest/content-store.ts'

/** The port: documents as they are read. */
export interface CatalogStore {
  /** Those of the documents that exist, in no particular order. */
  documents(documentIds: readonly string[], parts: { snapshot: boolean }): Promise<readonly DocumentRecord[]>
  /** The texts of some versions, in no particular order. Asked only for those that may be read. */
  bodies(versionIds: readonly string[]): Promise<readonly VersionBody[]>
  /** One version of a document, the current one when `versionId` is null. A version that the scope hides is none. */
  version(documentId: string, versionId: string | null, scope: Scope): Promise<VersionRecord | null>
  /** Those that the scope opens, newest first; `before` is the last id already seen. */
  versions(documentId: string, scope: Scope, page: Page): Promise<readonly VersionSummary[]>
  /** How many of them there are. */
  versionCount(documentId: string, scope: Scope): Promise<number>
  snapshots(documentId: string, page: Page): Promise<readonly SnapshotRecord[]>
  /** Documents by exact conditions, newest first. */
  browse(query: BrowseQuery): Promise<readonly DocumentRecord[]>
  /**
   * First-ingest times of the oldest and the newest document that the scope opens; null where there is none, and where
   * that cannot be said by looking at a bounded number of documents.
   */
  ingestTimes(scope: Scope): Promise<IngestTimes | null>
  /** Active classifications of a dataset, by code. */
  classifications(datasetId: string, after: string | null, limit: number): Promise<readonly ClassificationRecord[]>
}

/** All conditions are AND-ed; the values of a list are OR-ed; null = no condition. Times are milliseconds. */
export interface BrowseQuery {
  readonly scope: Scope
  readonly externalAuthorId: string | null
  readonly topics: readonly string[] | null
  readonly tags: readonly string[] | null
  readonly classifications: readonly string[] | null
  readonly contentTypes: readonly string[] | null
  /** Closed interval. */
  readonly scoreMin: number | null
  readonly scoreMax: number | null
  /** Half-open intervals. */
  readonly publishedFrom: number | null
  readonly publishedTo: number | null
  readonly createdFrom: number | null
  readonly createdTo: number | null
  readonly status: DocumentStatus | null
  /** A document id, a URL or, where platforms are named, an id on those platforms. */
  readonly exact: { readonly text: string; readonly platforms: readonly string[] | null } | null
  /** The last id of the previous page. */
  readonly before: string | null
  readonly limit: number
  readonly snapshot: boolean
  /** When nobody waits for the answer any longer: the store then gives up. Null = whenever it comes. */
  readonly answerBy: number | null
}

export interface IngestTimes {
  readonly earliest: number
  readonly latest: number
}

export interface ClassificationRecord {
  readonly code: string
  readonly name: string
  readonly description: string | null
  readonly labelSchema: Readonly<Record<string, unknown>>
}

export interface Page {
  readonly before: string | null
  readonly limit: number
}

export interface DocumentRecord extends ScopedDocument {
  readonly documentId: string
  readonly externalId: string
  readonly url: string | null
  readonly title: string | null
  readonly contentType: string | null
  readonly status: DocumentStatus
  readonly currentVersionId: string
  readonly versionCount: number
  readonly createdAt: number
  readonly observedAt: number
  readonly author: Readonly<Record<string, unknown>> | null
  readonly topics: readonly string[]
  readonly tags: readonly string[]
  readonly classifications: readonly string[]
  readonly score: number | null
  /** Only where it was asked for. */
  readonly snapshot?: SnapshotRecord | null
}

export interface VersionBody {
  readonly versionId: string
  readonly body: string | null
}

export interface VersionSummary {
  readonly versionId: string
  readonly title: string | null
  /** Its own, as it was sent. */
  readonly language: string | null
  readonly createdAt: number
}

export interface VersionRecord extends VersionSummary {
  readonly body: string | null
  readonly publishedAt: number | null
}

export interface SnapshotRecord {
  readonly snapshotId: string
  readonly observedAt: number
  readonly score: number | null
  readonly metrics: Readonly<Record<string, number>>
}
