import type { Scope } from '../access/scope.ts'

/** The port: documents with their texts, in the order of their ids, as lines of an export. */
export interface ExportSource {
  /**
   * Some lines after a position. One call looks at a bounded number of documents and reads a bounded amount of text,
   * but always gets on. Texts that the scope hides are not read.
   */
  portion(query: ExportQuery): Promise<ExportPortion>
}

export const exportedVersions = ['current', 'all'] as const
export type ExportedVersions = (typeof exportedVersions)[number]

export interface ExportQuery {
  readonly scope: Scope
  readonly after: ExportPosition | null
  readonly versions: ExportedVersions
  /** Lines of documents, at the most. */
  readonly documentsMax: number
}

/** How far an export has come: through this document, or, where a version is named, through that version of it. */
export interface ExportPosition {
  readonly documentId: string
  /** Empty: through the document's own line. Null: the document is done. */
  readonly versionId: string | null
}

export interface ExportPortion {
  /** Whole lines in UTF-8, made where the rows are: a portion crosses threads as it goes out. */
  readonly lines: Uint8Array
  /** Lines of documents among them. */
  readonly documents: number
  readonly position: ExportPosition | null
  readonly atEnd: boolean
}
