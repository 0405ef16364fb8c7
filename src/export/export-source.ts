import type { Scope } from '../access/scope.ts'

/** Port: reads documents with their texts as NDJSON, ordered by ID, in batches. */
export interface ExportSource {
  /**
   * Returns the next batch of lines after a position. One call scans a bounded number of documents and reads a bounded
   * amount of text, but always makes progress. Does not read texts that the scope hides.
   */
  portion(query: ExportQuery): Promise<ExportPortion>
}

export const exportedVersions = ['current', 'all'] as const
export type ExportedVersions = (typeof exportedVersions)[number]

export interface ExportQuery {
  readonly scope: Scope
  readonly after: ExportPosition | null
  readonly versions: ExportedVersions
  /** The maximum number of document lines. */
  readonly documentsMax: number
}

/** The position of an export: after this document, or after this version of it if there is one. */
export interface ExportPosition {
  readonly documentId: string
  /** Empty: after the document's own line. Null: after all lines of the document. */
  readonly versionId: string | null
}

export interface ExportPortion {
  /** Complete lines. The store makes them, so that its threads need not pass on rows. */
  readonly lines: string
  /** The number of document lines. */
  readonly documents: number
  readonly position: ExportPosition | null
  readonly atEnd: boolean
}
