import type { Scope } from '../access/scope.ts'

/** The port of exports: documents with their texts, ordered by id, as lines. */
export interface ExportSource {
  /**
   * The lines after a position. One call looks at a bounded number of documents and reads a bounded amount of text, but
   * always moves forward. Does not read texts that the scope hides.
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

/** The progress of an export: through this document, or through this version of it if one is named. */
export interface ExportPosition {
  readonly documentId: string
  /** Empty: through the document's own line. Null: the document is done. */
  readonly versionId: string | null
}

export interface ExportPortion {
  /** Whole lines. The store makes them, so that rows need not be passed on. */
  readonly lines: string
  /** The number of document lines. */
  readonly documents: number
  readonly position: ExportPosition | null
  readonly atEnd: boolean
}
