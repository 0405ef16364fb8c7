import type { IncomingDocument } from '../document/field-types.ts'

export type { IncomingDocument }

/** The port: the part of the store that takes documents. */
export interface ContentStore {
  /**
   * Writes the documents in order, in one transaction with their versions, facts, snapshots and events. A document that
   * cannot be written (its dataset is unknown) is refused alone. An erased document is not written and stays erased.
   * `nowMs` becomes the first-ingest time of new documents.
   */
  ingest(documents: readonly IncomingDocument[], nowMs: number): Promise<readonly IngestResult[]>
  /** Returns the IDs of all datasets, except those that are being erased. */
  knownDatasets(): Promise<readonly string[]>
}

/** The results for documents that are stored. */
export const storedOutcomes = ['created', 'version_created', 'metrics_updated', 'updated', 'unchanged'] as const
export type Outcome = (typeof storedOutcomes)[number]
export const outcomes = [...storedOutcomes, 'erased'] as const

export type IngestResult =
  | {
      readonly documentId: string
      readonly versionId: string
      readonly outcome: Outcome
    }
  /** An operator erased the document and did not allow it to be sent again. */
  | { readonly outcome: 'erased' }
  | { readonly refusal: Refusal }

/**
 * `too_many_items`, `task_closed` and `task_lease_lost` are for documents of tasks. `stream_ended` and `unauthorized`
 * end a stream of lines: they concern no single document, and have the index of the first one that was not read or not
 * stored.
 */
export const refusalCodes = [
  'invalid_document',
  'unknown_dataset',
  'dataset_forbidden',
  'not_stored',
  'too_many_items',
  'task_closed',
  'task_lease_lost',
  'stream_ended',
  'unauthorized',
] as const
type RefusalCode = (typeof refusalCodes)[number]

export interface Refusal {
  readonly code: RefusalCode
  readonly message: string
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}
