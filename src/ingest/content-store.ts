/** The port: where documents go. */
export interface ContentStore {
  /**
   * Writes the documents in order, in one transaction with their versions, facts, snapshots and events. A document
   * that cannot be written (its dataset is unknown) is refused alone; one that was erased is not written, and stays so. `nowMs` becomes the first-ingest time of new ones.
   */
  ingest(documents: readonly IncomingDocument[], nowMs: number): Promise<readonly IngestResult[]>
  /** Datasets that exist, out of those named. */
  knownDatasets(): Promise<readonly string[]>
}

/**
 * A checked document. A field that is undefined was not sent and keeps what is known; null takes it away.
 */
export interface IncomingDocument {
  readonly datasetId: string
  readonly platform: string
  readonly externalId: string
  readonly url?: string | null
  readonly contentType?: string | null
  readonly language?: string | null
  readonly region?: string | null
  readonly status?: DocumentStatus
  readonly publishedAt?: number | null
  readonly observedAt?: number
  readonly title?: string | null
  readonly body?: string | null
  readonly author?: Readonly<Record<string, unknown>> | null
  readonly topics?: readonly string[] | null
  readonly tags?: readonly string[] | null
  readonly score?: number | null
  readonly metrics?: Readonly<Record<string, number>> | null
  readonly quality?: number | null
  readonly facts?: readonly Fact[] | null
  readonly extraPayload?: Readonly<Record<string, unknown>> | null
}

/** What the collector last said of the original. */
export const documentStatuses = ['active', 'unavailable'] as const
export type DocumentStatus = (typeof documentStatuses)[number]

export interface Fact {
  readonly kind: string
  readonly level: 'document' | 'version'
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What a document that is stored becomes. */
export const storedOutcomes = ['created', 'version_created', 'metrics_updated', 'updated', 'unchanged'] as const
export type Outcome = (typeof storedOutcomes)[number]
export const outcomes = [...storedOutcomes, 'erased'] as const

export type IngestResult =
  | {
      readonly documentId: string
      readonly versionId: string
      readonly outcome: Outcome
    }
  /** An operator erased it, and did not let it come in again. */
  | { readonly outcome: 'erased' }
  | { readonly refusal: Refusal }

/**
 * Three are of tasks: over the bound of items, or no longer the sender's to work on. The last two end a stream of lines:
 * they are of no document, and stand where the first one would that was not read or not stored.
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
