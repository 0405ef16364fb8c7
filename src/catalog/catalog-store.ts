import type { Scope } from '../access/scope.ts'
import type { AnsweredValues, Conditions } from '../document/field-types.ts'
import type { DocumentStatus } from '../document/fields.ts'

/** The port for reading documents. */
export interface CatalogStore {
  /** Returns the documents that exist, in no particular order. */
  documents(documentIds: readonly string[], parts: { snapshot: boolean }): Promise<readonly DocumentRecord[]>
  /** Returns the texts of versions, in no particular order. The caller has checked that they may be read. */
  bodies(versionIds: readonly string[]): Promise<readonly VersionBody[]>
  /**
   * Returns a version of a document, or the current one if `versionId` is null. Null if it does not exist or the scope
   * hides it.
   */
  version(documentId: string, versionId: string | null, scope: Scope): Promise<VersionRecord | null>
  /**
   * Returns versions that the scope opens, newest first. `before` is the last id of the previous page (keyset paging).
   */
  versions(documentId: string, scope: Scope, page: Page): Promise<readonly VersionSummary[]>
  /** Counts the versions of the document that the scope opens. */
  versionCount(documentId: string, scope: Scope): Promise<number>
  snapshots(documentId: string, page: Page): Promise<readonly SnapshotRecord[]>
  /** Returns documents by exact conditions, newest first. */
  browse(query: BrowseQuery): Promise<readonly DocumentRecord[]>
  /**
   * Returns the first-ingest times of the oldest and the newest document that the scope opens. Null if there is no
   * document, or if a bounded scan cannot find the two times.
   */
  ingestTimes(scope: Scope): Promise<IngestTimes | null>
  /** Returns active classifications of a dataset, ordered by code. */
  classifications(datasetId: string, after: string | null, limit: number): Promise<readonly ClassificationRecord[]>
}

/**
 * All conditions are combined with AND, the values of a list with OR. Null means no condition. Times are in
 * milliseconds.
 */
export interface BrowseQuery {
  readonly scope: Scope
  readonly conditions: Conditions
  readonly contentTypes: readonly string[] | null
  /** The end of each interval is exclusive. */
  readonly publishedFrom: number | null
  readonly publishedTo: number | null
  readonly createdFrom: number | null
  readonly createdTo: number | null
  readonly status: DocumentStatus | null
  /** A document id, a URL or, if platforms are named, an external id on those platforms. */
  readonly exact: { readonly text: string; readonly platforms: readonly string[] | null } | null
  /** The last id of the previous page. */
  readonly before: string | null
  readonly limit: number
  readonly snapshot: boolean
  /**
   * The deadline, in milliseconds since 1970. After it, the store stops, because the caller no longer waits. Null for
   * no deadline.
   */
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

export interface DocumentRecord extends AnsweredValues {
  readonly versionCount: number
  /** When a collector last sent the document, changed or not. */
  readonly seenAt: number
  /** Present if it was requested. */
  readonly snapshot?: SnapshotRecord | null
}

export interface VersionBody {
  readonly versionId: string
  readonly body: string | null
}

export interface VersionSummary {
  readonly versionId: string
  readonly title: string | null
  /** The language of the version itself, as the collector sent it. */
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
