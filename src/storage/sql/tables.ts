import type { Generated } from 'kysely'
import type { DocumentRow } from '../../document/field-types.ts'

export type { DocumentRow }

/**
 * The tables for Kysely, the same on every dialect: text ids, times in whole milliseconds, JSON as text, booleans as 0
 * or 1. The indexes are in `migrations/`.
 */
export interface Tables {
  dataset: DatasetRow
  classification: ClassificationRow
  embedding_profile: EmbeddingProfileRow
  application: ApplicationRow
  entitlement: EntitlementRow
  collector: CollectorRow
  api_key: ApiKeyRow
  usage: UsageRow
  rate_bucket: RateBucketRow
  audit: AuditRow
  signing_key: SigningKeyRow
  document: DocumentRow
  document_version: DocumentVersionRow
  snapshot: SnapshotRow
  fact_set: FactSetRow
  document_term: DocumentTermRow
  event: EventRow
  feed_state: FeedStateRow
  chunk: ChunkRow
  chunk_vector: ChunkVectorRow
  text_chunk: TextChunkRow
  pending_vector: PendingVectorRow
  refused_vector: RefusedVectorRow
  live_query: LiveQueryRow
  live_run: LiveRunRow
  live_item: LiveItemRow
  live_key: LiveKeyRow
  collector_poll: CollectorPollRow
  analysis_run: AnalysisRunRow
  analysis_artifact: AnalysisArtifactRow
  analysis_subscription: AnalysisSubscriptionRow
  erasure: ErasureRow
  erased_document: ErasedDocumentRow
  tombstone_key: TombstoneKeyRow
  index_copy: IndexCopyRow
  history: HistoryRow
  clock: ClockRow
}

interface DatasetRow {
  dataset_id: string
  name: string
  description: string | null
  /** Documents are erased this many days after ingest; null keeps them forever. */
  retain_days: number | null
  /**
   * The erasure that is removing the dataset's documents and has not hidden all of them yet. Until then nobody can read
   * them.
   */
  hidden_by: string | null
  created_at: number
  updated_at: number
}

interface ClassificationRow {
  dataset_id: string
  code: string
  name: string
  description: string | null
  label_schema: string
  active: number
  created_at: number
  updated_at: number
}

interface EmbeddingProfileRow {
  profile_id: string
  provider: string
  model: string
  dimensions: number | null
  status: string
  is_default: number
  /** The languages of the texts that get vectors, comma-separated; `*` for any; null if no vectors are made. */
  vectors_for: string | null
  created_at: number
  updated_at: number
}

interface ApplicationRow {
  application_id: string
  name: string
  policy: string
  created_at: number
  updated_at: number
}

interface EntitlementRow {
  entitlement_id: string
  application_id: string
  position: number
  entry: string
}

interface CollectorRow {
  collector_id: string
  name: string
  /** A JSON list, or null for every dataset. */
  datasets: string | null
  created_at: number
}

/** Keys of every kind. `key-owners.ts` finds the owner of a key. */
export interface ApiKeyRow {
  key_id: string
  /** The kind of credential. */
  owner_kind: string | null
  owner_id: string | null
  /** The owner's id again, for the two kinds that an older version knows. */
  application_id: string | null
  collector_id: string | null
  /** JSON: the rights of a key whose owner does not define them. */
  rights: string | null
  name: string | null
  /** The first characters of the key: enough to recognise it, too few to guess it. */
  prefix: string
  /** SHA-256 of the whole key, in hex. */
  hash: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

interface UsageRow {
  application_id: string
  /** UTC calendar day, such as 2026-11-15. */
  day: string
  operation: string
  used: number
}

/** Token buckets of the rate limits, shared by all processes. */
interface RateBucketRow {
  name: string
  tokens: number
  updated_at: number
}

interface AuditRow {
  audit_id: string
  at: number
  actor: string
  action: string
  target: string
  detail: string
}

/** Secrets that sign cursors. The newest one signs. Older ones still verify until they are removed. */
interface SigningKeyRow {
  key_id: string
  secret: string
  created_at: number
}

export interface DocumentVersionRow {
  version_id: string
  document_id: string
  title: string | null
  body: string | null
  language: string | null
  published_at: number | null
  /** The document's revision when this version was made. */
  index_revision: number
}

export interface SnapshotRow {
  snapshot_id: string
  document_id: string
  observed_at: number
  score: number | null
  metrics: string | null
}

export interface FactSetRow {
  fact_set_id: string
  document_id: string
  /** The version that the facts are about; null for facts about the document. */
  version_id: string | null
  facts: string
}

export interface DocumentTermRow {
  kind: number
  value: string
  dataset_id: string
  document_id: string
}

export interface EventRow {
  sequence: Generated<number>
  event_id: string
  event_type: string
  dataset_id: string
  source_platform: string
  document_id: string
  version_id: string | null
  changed_fields: string
  occurred_at: number
  observed_at: number
  ingested_at: number
  /** Bits of `access/event-fields.ts`; null for events of earlier versions. */
  opened_by: number | null
  /** The document's language, region and publication time when the event was written. */
  language: string | null
  region: string | null
  published_at: number | null
  /**
   * The document's earlier values, for events with the bit `moved`. For an erasure, the languages of all other texts,
   * comma-separated.
   */
  language_before: string | null
  region_before: string | null
  published_before: number | null
}

interface FeedStateRow {
  one: number
  removed_through: number
}

/** A piece of a version's body, as a range of UTF-16 code units. A version without a body has one empty chunk. */
export interface ChunkRow {
  chunk_id: string
  document_id: string
  version_id: string
  ordinal: number
  starts_at: number
  ends_at: number
  /**
   * 1 for a chunk that no longer belongs to its version, because the version was chunked again. An index may still find
   * it, so it can be shown, but it has no vector and needs none. Null for all others.
   */
  replaced: number | null
  /** Hash of the chunk's text; null for an empty one, and for chunks from before hashes existed. */
  text_hash: string | null
}

/** The chunks that share a text. */
interface TextChunkRow {
  text_hash: string
  chunk_id: string
}

interface ChunkVectorRow {
  profile_id: string
  chunk_id: string
  /** 32-bit floats, little-endian, normalised to length 1. */
  vector: Uint8Array
}

/** Chunks whose vector is not in the index yet. */
interface PendingVectorRow {
  profile_id: string
  chunk_id: string
}

/** Chunks whose text the embedding model refuses. */
interface RefusedVectorRow {
  profile_id: string
  chunk_id: string
}

/** A request for fresh content. It has one run for each platform. */
export interface LiveQueryRow {
  live_query_id: string
  application_id: string
  dataset_id: string
  resource_kind: string
  query: string
  max_items: number
  created_at: number
  deadline_at: number
  completed_at: number | null
}

/**
 * The part of a live query for one platform, which is also the task that collectors see. Both have the same lifetime.
 */
export interface LiveRunRow {
  run_id: string
  task_id: string
  live_query_id: string
  ordinal: number
  platform: string
  status: string
  items: number
  error_code: string | null
  error_message: string | null
  /** The newest lease. Kept after the end, so that a repeated completion is recognised. */
  lease_id: string | null
  collector_id: string | null
  lease_expires_at: number | null
}

/** The documents that a run delivered, each once, in the order of delivery. */
interface LiveItemRow {
  run_id: string
  position: number
  external_id: string
  document_id: string
}

/**
 * Idempotency keys, by caller, and the object that each made. The column names are from the time when only live queries
 * had such keys: older processes, which may run during an upgrade, know no others.
 */
interface LiveKeyRow {
  application_id: string
  idempotency_key: string
  body_hash: string
  live_query_id: string
  created_at: number
}

/** When a collector last polled for tasks. An empty `resource_kind` stands for every kind. */
interface CollectorPollRow {
  collector_id: string
  platform: string
  resource_kind: string
  polled_at: number
}

export interface AnalysisRunRow {
  run_id: string
  application_id: string
  analysis_type: string
  embedding_profile_id: string | null
  input_scope: string
  parameters: string | null
  input_cutoff_at: number
  retention_days: number
  /** The scope of the application when it created the run. */
  scope: string
  status: string
  progress: number
  created_at: number
  started_at: number | null
  completed_at: number | null
  expires_at: number
  error: string | null
  /** The run's input, as JSON; null while it is unknown. */
  input: string | null
  /** Warning codes, as JSON; null for none. */
  warnings: string | null
  /** The worker of the run, and the end of its lease in milliseconds; 0 without a worker. */
  worker_id: string | null
  lease_until: number
  attempts: number
  /** For a run of a subscription: its number in the subscription, and the feed position that its input includes. */
  subscription_id: string | null
  turn: number | null
  feed_sequence: number | null
}

interface AnalysisArtifactRow {
  artifact_id: string
  run_id: string
  row_count: number
  byte_count: number
  sha256: string
  name: string
}

export interface AnalysisSubscriptionRow {
  subscription_id: string
  application_id: string
  name: string
  analysis_type: string
  input_scope: string
  execution_mode: string
  embedding_profile_id: string | null
  interval_seconds: number | null
  artifact_retention_days: number | null
  paused: number
  created_at: number
  updated_at: number
  /** The parameters of the request, as JSON; null if it had none. */
  parameters: string | null
  /** The number of the latest run; 0 before the first. */
  turn: number
  last_run_id: string | null
  /** Runs started since the last success. */
  tries: number
  /** No event up to this sequence requires another run. */
  followed_through: number
  checkpoint_sequence: number | null
  checkpoint_run_id: string | null
  checkpoint_at: number | null
}

/** A job that erases documents. */
export interface ErasureRow {
  erasure_id: string
  actor: string
  /**
   * The documents still to be found and hidden, as JSON; null when all are hidden. It can name a person, so it is not
   * kept.
   */
  selection: string | null
  /** The number of documents hidden so far. */
  documents: number
  /** How many of those have nothing left in the store; null if they were not counted. */
  removed: number | null
  keep_tombstones: number
  purge_artifacts: number
  /** Analysis runs that may contain one of the documents, as JSON. */
  artifact_run_ids: string
  /** The dataset that is deleted with its last document. */
  deletes_dataset: string | null
  /** `Arrivals` as JSON, until events for all of them are written. */
  arrivals: string | null
  status: string
  created_at: number
  completed_at: number | null
}

/**
 * An erased document. The row is kept forever: copies of the index and restored backups learn from it that the document
 * is gone.
 */
export interface ErasedDocumentRow {
  document_id: string
  erasure_id: string
  /** From the sequence of document revisions, so a reader of revisions also sees the erasure. */
  index_revision: number
  /** Keyed hash of dataset, platform and external id; null if the document may be ingested again. */
  tombstone: string | null
  /** 1 while its texts and everything made from them must still be removed, otherwise null. */
  remains: number | null
}

/** The secret of the tombstones' hash, so that nobody can test ids against the hashes alone. */
interface TombstoneKeyRow {
  one: number
  secret: string
}

/** The search indexes in use. `purged_through` is the revision up to which erased documents are gone from the index. */
interface IndexCopyRow {
  copy_id: string
  purged_through: number
  seen_at: number
}

/** A detected rollback of the store, which lacked data that it had before. */
interface HistoryRow {
  history_id: string
  noticed_at: number
  why: string
}

interface ClockRow {
  one: number
  believed_until: number
}
